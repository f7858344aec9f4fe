// SPDX-License-Identifier: Apache-2.0
// Graphs whose queues are changed, and what their steps take then.
#include "study/workload/queue_change.h"

#include <gtest/gtest.h>

#include "study/predict/predictor.h"
#include "study/predict/recorded_prediction.h"
#include "study/workload/input_pipeline.h"
#include "study/workload/placing.h"
#include "study/workload/queue_nodes.h"
#include "tests/core/base/expect_error.h"
#include "tests/support/paths.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {
namespace {

const std::string kCsvReader = lanescope::test::SourceDir() + "/samples/pipelines/csv_reader.pbtxt";

WorkloadOptions With(std::vector<std::string> queues) {
  WorkloadOptions options;
  options.queues = std::move(queues);
  return options;
}

TEST(QueueChange, ThreadsCapacityAndBatch) {
  const Workload plain(kCsvReader);
  EXPECT_EQ(plain.spec().queue_runners.at(1).enqueue_ops.size(), 2u);
  const Workload changed(kCsvReader,
                         With({"instance_q.threads=5", "instance_q.capacity=300", "instance_q.batch=64"}));
  EXPECT_EQ(changed.spec().queue_runners.at(1).enqueue_ops,
            std::vector<std::string>(5, plain.spec().queue_runners[1].enqueue_ops[0]));
  const Graph& graph = changed.graph();
  const NodeId queue = FindQueue(graph, "shared_instance_q");
  EXPECT_EQ(FindQueue(graph, "instance_q"), queue);
  EXPECT_EQ(graph.node(queue).IntAttr("capacity"), 300);
  bool taken = false;
  for (const NodeId n : graph.node_ids()) {
    if (!TakesMany(graph.node(n))) continue;
    taken = true;
    EXPECT_EQ(QueueUsedBy(graph, graph.node(n)), queue);
    EXPECT_EQ(changed.info().of(graph.node(n).inputs[1]).value->IntAt(0), 64);
  }
  EXPECT_TRUE(taken);
}

TEST(QueueChange, RefusesWhatCannotBe) {
  for (const char* wrong :
       {"q", "q.threads", "q.threads=0", "q.threads=1000", "q.colour=3", "q.batch=x", ".batch=2"})
    EXPECT_NE(CheckQueueChange(wrong), "") << wrong;
  EXPECT_EQ(CheckQueueChange("a/b.batch=2"), "");
  EXPECT_EQ(ErrorOf([] { Workload(kCsvReader, With({"other.batch=3"})); }).substr(0, 40),
            "NotFound: the graph has no queue 'other'");
  EXPECT_EQ(ErrorOf([] { Workload(kCsvReader, With({"instance_q.capacity=50"})); }).substr(0, 15),
            "InvalidArgument");
}

// A cost table that knows the threads of the reader alone: 1 ms a record.
sims::CostTable TableOf(int64_t ns, int64_t exclusive_ns, int cores = 64) {
  sims::CostTable table;
  table.calibrated_on = "this test";
  table.input = {cores, {{"instance_q_enqueue", ns, exclusive_ns, 100}}};
  return table;
}

sims::Prediction PredictionWith(const sims::CostTable& table, std::vector<std::string> changes = {}) {
  const Machine machine = VirtualMachine(1, 1);
  const Workload workload(kCsvReader, With(std::move(changes)));
  const Predictor predictor(machine, table);
  const PlacedGraph placed = Place(workload, "annotated", machine, predictor.costs());
  return predictor.Predict(workload, CompileStep(placed, machine), {.draws = 0});
}

// Two threads, 20 records a batch: 10 ms a step, unless they take turns.
TEST(InputPipeline, AStepTakesAsLongAsItsInput) {
  const sims::Prediction prediction = PredictionWith(TableOf(1'000'000, 0));
  ASSERT_TRUE(prediction.input);
  EXPECT_NEAR(static_cast<double>(prediction.step_ns), 10e6, 1e5);
  EXPECT_GT(prediction.input->result.wait_ns, 9'000'000);
  EXPECT_EQ(prediction.simulation.step_ns, prediction.step_ns);
  EXPECT_NEAR(static_cast<double>(PredictionWith(TableOf(1'000'000, 1'000'000)).step_ns), 20e6, 1e5);
  EXPECT_NEAR(static_cast<double>(PredictionWith(TableOf(1'000'000, 0), {"instance_q.threads=4"}).step_ns),
              5e6, 1e5);
  EXPECT_NEAR(static_cast<double>(PredictionWith(TableOf(1'000'000, 0), {"instance_q.batch=40"}).step_ns),
              20e6, 1e5);
  // On one core two threads are no faster than one.
  EXPECT_NEAR(static_cast<double>(PredictionWith(TableOf(1'000'000, 0, 1)).step_ns), 20e6, 2e5);
}

// Input: a prediction whose steps wait for records, 1 and 3 ms in turn. Law: as a run of a trace it has steps
// one after the other, as long on average as was predicted; the threads that fill the queue, with a step for
// every record; and waits that end within their step.
TEST(InputPipeline, ASimulatedRunHasTheThreadsToo) {
  sims::CostTable table = TableOf(2'000'000, 0);
  table.input.threads[0].times = {1'000'000, 3'000'000};
  const Machine machine = VirtualMachine(1, 1);
  const Workload workload(kCsvReader);
  const Predictor predictor(machine, table);
  const PlacedGraph placed = Place(workload, "annotated", machine, predictor.costs());
  const Schedule schedule = CompileStep(placed, machine);
  const sims::Prediction prediction = predictor.Predict(workload, schedule, {.draws = 0});
  const traces::ScratchFile file;
  traces::TraceWriter writer(file.path());
  const int number = RecordPrediction(&writer, placed, schedule, predictor, prediction, {.steps = 10});
  writer.Close();
  const traces::TraceRun run = traces::TraceReader(file.path()).ReadRun(number);
  const std::vector<traces::TraceStep>& steps = run.steps;
  ASSERT_EQ(steps.size(), 10u);
  for (size_t i = 1; i < steps.size(); ++i) EXPECT_EQ(steps[i].start_ns, steps[i - 1].end_ns);
  EXPECT_NEAR(static_cast<double>(steps.back().end_ns - steps.front().start_ns) / 10,
              static_cast<double>(prediction.step_ns), 1e6);
  ASSERT_EQ(run.input.threads.size(), 2u);
  EXPECT_EQ(run.input.threads[0].op, "instance_q_enqueue");
  EXPECT_EQ(run.input.threads[0].queue, workload.spec().queue_runners.at(1).queue);
  EXPECT_NEAR(static_cast<double>(run.input.steps.size()), 200, 3);
  EXPECT_FALSE(run.input.fills.empty());
  size_t waits = 0;
  for (const InputWait& wait : run.input.waits) {
    if (wait.thread != kNoInputThread) continue;
    ++waits;
    const traces::TraceStep& step = steps.at(static_cast<size_t>(wait.step));
    EXPECT_GE(wait.start_ns, step.start_ns);
    EXPECT_LE(wait.end_ns, step.end_ns);
  }
  EXPECT_EQ(waits, 10u);
}

// Nothing is known of its threads: the step alone.
TEST(InputPipeline, WithoutCostsOfItsThreadsAStepNeverWaits) {
  sims::CostTable table = TableOf(1'000'000, 0);
  table.input.threads[0].op = "other";
  EXPECT_FALSE(PredictionWith(table).input.has_value());
}

}  // namespace
}  // namespace lanescope::study
