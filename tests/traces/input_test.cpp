// SPDX-License-Identifier: Apache-2.0
// The input of a run, in its trace and in its summary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/report/device_usage.h"
#include "traces/report/input_use.h"
#include "traces/report/summary.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

using ::testing::HasSubstr;

// The step of the run waits from 0 to 400; a thread has two steps.
InputRecord SampleInput() {
  InputRecord input;
  input.threads = {{0, "fill", "examples"}};
  input.queues = {{0, "queue 'examples'", 32, 0}};
  input.steps = {{0, 0, 0, 300}, {0, 1, 300, 700}};
  input.waits = {{kNoInputThread, 0, 0, 0, 0, 400}, {0, 1, 3, 0, 400, 600}};
  input.works = {{0, 3, 2, 50}};
  input.fills = {{0, 0, 0}, {0, 500, 4}};
  return input;
}

int WriteRun(const std::string& path, const InputRecord& input) {
  const SampleRun sample;
  TraceWriter writer(path);
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  writer.Sink(run)->Consume(SampleRun::StepEvents(0, 0));
  writer.AddInput(run, input);
  writer.EndRun(run, {});
  writer.Close();
  return run;
}

TEST(InputTest, IsReadAsItWasWritten) {
  const ScratchFile file;
  const int run = WriteRun(file.path(), SampleInput());
  const InputRecord read = TraceReader(file.path()).ReadRun(run).input;
  EXPECT_EQ(read.size(), SampleInput().size());
  EXPECT_EQ(read.threads.at(0).op, "fill");
  EXPECT_EQ(read.threads.at(0).queue, "examples");
  EXPECT_EQ(read.queues.at(0).name, "queue 'examples'");
  EXPECT_EQ(read.queues.at(0).capacity, 32);
  EXPECT_EQ(read.steps.at(1).start_ns, 300);
  EXPECT_EQ(read.waits.at(0).thread, kNoInputThread);
  EXPECT_EQ(read.waits.at(1).thread, 0);
  EXPECT_EQ(read.waits.at(1).end_ns, 600);
  EXPECT_EQ(read.works.at(0).ns, 50);
  EXPECT_EQ(read.fills.at(1).size, 4);
}

// Rows that name a queue or thread that is not there, or end before they start, are no waits.
TEST(InputTest, RowsThatMakeNoSenseAreLeftOut) {
  const ScratchFile file;
  const int run = WriteRun(file.path(), SampleInput());
  Database(file.path(), OpenMode::kReadWrite)
      .Execute(
          "INSERT INTO LANESCOPE_WAIT (runId, thread, step, nodeId, queue, start, \"end\") VALUES "
          "(1, NULL, 0, 0, 7, 0, 10), (1, 9, 0, 0, 0, 0, 10), (1, NULL, 0, 0, 0, 10, 0)");
  const TraceRun read = TraceReader(file.path()).ReadRun(run);
  EXPECT_EQ(read.input.waits.size(), 2u);
  EXPECT_EQ(read.invalid_rows, 3);
}

// From 0 to 400 GPU:0 copies and computes for 300, GPU:1 does nothing: 100 and 400 of a step of 1000.
TEST(InputTest, TheSummarySaysWhatGpusWaitFor) {
  const ScratchFile file;
  const int run = WriteRun(file.path(), SampleInput());
  const Summary summary = Summarize(file.path(), run);
  ASSERT_TRUE(summary.input);
  EXPECT_EQ(summary.input->wait_ns, 250);
  EXPECT_EQ(summary.input->queues.at(0).starved_ns, 400);
  EXPECT_DOUBLE_EQ(summary.input->queues[0].mean_fill, 2);  // 0 for a half, 4 for the other
  EXPECT_EQ(summary.input->queues[0].threads, 1);
  EXPECT_EQ(summary.input->threads.at(0).steps, 2);
  EXPECT_DOUBLE_EQ(summary.input->threads[0].step_ns, 350);
  EXPECT_DOUBLE_EQ(summary.input->threads[0].work_ns, 250);
  EXPECT_EQ(summary.input->threads[0].waited_ns, 200);
  EXPECT_THAT(summary.verdict, ::testing::StartsWith(
                                   "GPU:0, GPU:1 wait for input 25% of the step; queue 'examples' is empty"));
  // Waiting is no computing.
  for (const SummaryRow& row : summary.gpu_activities) EXPECT_NE(row.name, "queue 'examples'");
  EXPECT_EQ(summary.communication.compute_ns, 600);
  EXPECT_THAT(SummaryText(summary), HasSubstr("queue 'examples'"));
  const auto json = nlohmann::json::parse(SummaryJson(summary));
  EXPECT_EQ(json["input"]["wait_ns"], 250);
  EXPECT_EQ(json["input"]["queues"][0]["capacity"], 32);
}

TEST(InputTest, RunsWithoutQueuesSayNothing) {
  const ScratchFile file;
  const int run = WriteRun(file.path(), {});
  EXPECT_FALSE(Summarize(file.path(), run).input.has_value());
}

// A thread that waits at an enqueue waits for room: the queue is full, and the input keeps up.
TEST(InputTest, AFullQueueKeepsUp) {
  InputRecord input = SampleInput();
  input.waits = {{0, 1, 3, 0, 300, 700}};
  const std::vector<TraceNode> nodes = {{3, "fill", "QueueEnqueueV2"}};
  const Interval window{0, 1000};
  const auto use = FindInputUse(input, nodes, {}, "GPU:0", {&window, 1});
  ASSERT_TRUE(use);
  EXPECT_EQ(use->queues[0].full_ns, 400);
  EXPECT_EQ(use->threads[0].blocked_ns, 400);
  EXPECT_EQ(use->threads[0].waited_ns, 0);
  EXPECT_EQ(use->wait_ns, 0);
  EXPECT_EQ(use->verdict, "The input keeps up: queue 'examples' is full 40% of the step.");
}

}  // namespace
}  // namespace lanescope::traces
