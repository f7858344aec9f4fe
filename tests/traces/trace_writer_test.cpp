// SPDX-License-Identifier: Apache-2.0
#include "traces/record/trace_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "core/base/error.h"
#include "core/record/recorder.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/report/statistics.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

TEST(TraceWriterTest, WhatIsWrittenIsReadBack) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  RunOutcome outcome;
  outcome.oversubscribed = true;
  EXPECT_EQ(sample.WriteTo(&writer, 3, outcome), 1);
  writer.Close();

  TraceReader reader(file.path());
  const TraceRun run = reader.ReadRun(1);
  EXPECT_TRUE(run.info.complete && run.info.simulated && run.info.emulated && run.info.oversubscribed);
  EXPECT_EQ(run.info.strategy, "alternating");
  EXPECT_EQ(run.info.graph, "sample.pbtxt");
  EXPECT_EQ(run.info.steps, 3);
  EXPECT_EQ(ParseMachine(run.info.machine_json).num_devices(), 3);

  // GPUs first, then the host.
  ASSERT_EQ(run.devices.size(), 3u);
  EXPECT_EQ(run.DeviceLabel(0), "GPU:0");
  EXPECT_EQ(run.DeviceLabel(1), "GPU:1");
  EXPECT_EQ(run.DeviceLabel(2), "CPU:0");
  EXPECT_TRUE(run.devices[2].is_host);
  EXPECT_EQ(run.devices[0].planned_peak, 1096);

  ASSERT_EQ(run.nodes.size(), 4u);
  EXPECT_EQ(run.nodes[1].name, "a");
  EXPECT_EQ(run.nodes[1].device, 0);
  EXPECT_EQ(run.nodes[0].device, 2);
  ASSERT_EQ(run.commands.size(), 6u);
  EXPECT_EQ(run.commands[3].kind, CommandKind::kCopy);
  EXPECT_EQ(run.commands[3].src, 0);
  EXPECT_EQ(run.commands[3].dst, 1);
  EXPECT_EQ(run.dependencies.size(), 5u);

  ASSERT_EQ(run.steps.size(), 3u);
  EXPECT_EQ(run.steps[2].start_ns, 2000);
  EXPECT_EQ(run.steps[2].end_ns, 3000);
  ASSERT_EQ(run.launches.size(), 9u);
  const TraceLaunch& a = run.launches[4];
  EXPECT_EQ(run.Text(a.name), "a");
  EXPECT_EQ(run.Text(a.op), "SampleMap");
  EXPECT_EQ(a.step, 1);
  EXPECT_EQ(a.node, 1);
  EXPECT_EQ(a.command, 2);
  EXPECT_EQ(a.device, 0);
  EXPECT_EQ(a.start_ns, 1200);
  EXPECT_EQ(a.end_ns, 1500);
  EXPECT_THAT(run.Text(a.signature), testing::HasSubstr("SampleMap"));
  // "a" and "b" have different shapes, so different signatures.
  EXPECT_NE(run.launches[4].signature, run.launches[5].signature);
  EXPECT_EQ(run.launches[4].signature, run.launches[7].signature);
}

// Three timed steps of 1000 ns, and three of which only the ends are known, one of them disturbed. Law: those
// say what a step takes; activities are of the others.
TEST(TraceWriterTest, UntimedStepsSayWhatAStepTakes) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  RunOutcome outcome;
  outcome.timing = {CommandTiming::kPairs, 4100, {{3, 5000, 5800}, {4, 6000, 6900}, {5, 7000, 9000}}};
  outcome.disturbances = {{5, 1, {}, true}};
  sample.WriteTo(&writer, 3, outcome);
  writer.Close();
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  EXPECT_EQ(run.info.command_timing, CommandTiming::kPairs);
  EXPECT_EQ(run.info.pair_ns, 4100);
  EXPECT_EQ(run.info.steps, 6);
  ASSERT_EQ(run.steps.size(), 3u);
  ASSERT_EQ(run.untimed_steps.size(), 3u);
  EXPECT_EQ(&run.time_steps(), &run.untimed_steps);
  EXPECT_EQ(run.untimed_steps[1].step, 4);
  EXPECT_EQ(run.untimed_steps[1].end_ns, 6900);
  EXPECT_FALSE(run.untimed_steps[2].counts);
  EXPECT_EQ(run.untimed_steps[2].round, 1);
  const RunStatistics statistics = ComputeStatistics(run);
  EXPECT_EQ(statistics.step_ns->median, 850);
  EXPECT_EQ(statistics.steps, 3) << "by which totals are divided";
  Database database(file.path(), OpenMode::kReadOnly);
  Statement figures(database, "SELECT printf('%d %d %d', stepMedianNs, stepMaxNs, steps) FROM LANESCOPE_RUN");
  ASSERT_TRUE(figures.Step());
  EXPECT_EQ(figures.Text(0), "850 900 6");
}

// A run whose commands threads have timed has neither table's rows.
TEST(TraceWriterTest, RunsOfThreadsHaveNoTiming) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 2);
  writer.Close();
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  EXPECT_EQ(run.info.command_timing, CommandTiming::kThreads);
  EXPECT_EQ(&run.time_steps(), &run.steps);
  EXPECT_EQ(ComputeStatistics(run).step_ns->median, 1000);
}

TEST(TraceWriterTest, CopiesAreClassifiedByTheirEnds) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 1);
  writer.Close();
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  ASSERT_EQ(run.copies.size(), 3u);
  EXPECT_EQ(run.copies[0].copy_class, CopyClass::kHostToDevice);
  EXPECT_EQ(run.copies[1].copy_class, CopyClass::kDeviceToDevice);
  EXPECT_EQ(run.copies[2].copy_class, CopyClass::kDeviceToHost);
  EXPECT_EQ(run.copies[1].bytes, 32);
  EXPECT_EQ(run.copies[1].src, 0);
  EXPECT_EQ(run.copies[1].dst, 1);
  EXPECT_EQ(run.copies[0].src, 2);
  Database database(file.path(), OpenMode::kReadOnly);
  Statement kinds(database, "SELECT group_concat(copyKind) FROM CUPTI_ACTIVITY_KIND_MEMCPY");
  ASSERT_TRUE(kinds.Step());
  EXPECT_EQ(kinds.Text(0), "1,10,2");
}

// Held: x0 64 bytes 100-500, a 32 bytes 200-600, over 1000 bytes of variables, on GPU:0.
TEST(TraceWriterTest, MemoryOverTimeFollowsTheBuffers) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 2);
  writer.Close();
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  std::vector<std::pair<int64_t, int64_t>> gpu0;
  for (const TraceMemoryPoint& point : run.memory) {
    if (point.device == 0) gpu0.emplace_back(point.time_ns, point.bytes);
  }
  EXPECT_THAT(gpu0,
              testing::ElementsAre(testing::Pair(0, 1000), testing::Pair(100, 1064), testing::Pair(200, 1096),
                                   testing::Pair(500, 1032), testing::Pair(600, 1000)));
}

TEST(TraceWriterTest, RunsAreAppendedAndKeptApart) {
  ScratchFile file;
  SampleRun first, second(false);
  second.info().strategy = "single";
  for (const SampleRun* sample : {&first, &second}) {
    TraceWriter writer(file.path());
    sample->WriteTo(&writer, 2);
    writer.Close();
  }
  TraceReader reader(file.path());
  const std::vector<TraceRunInfo> runs = reader.Runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].id, 2);
  EXPECT_EQ(runs[1].strategy, "single");
  EXPECT_FALSE(runs[1].simulated);
  EXPECT_EQ(reader.ReadRun(1).launches.size(), 6u);
  EXPECT_EQ(reader.ReadRun(2).launches.size(), 6u);
  Database database(file.path(), OpenMode::kReadOnly);
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(DISTINCT correlationId) FROM LANESCOPE_ACTIVITY"), 24);
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(DISTINCT globalPid >> 48) FROM CUPTI_ACTIVITY_KIND_KERNEL"),
            2);
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(*) - COUNT(DISTINCT value) FROM StringIds"), 0);
}

TEST(TraceWriterTest, RunsCanBeWrittenAtTheSameTime) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { sample.WriteTo(&writer, 500); });
  for (std::thread& thread : threads) thread.join();
  writer.Close();
  TraceReader reader(file.path());
  for (int run = 1; run <= 4; ++run) EXPECT_EQ(reader.ReadRun(run).launches.size(), 1500u);
}

TEST(TraceWriterTest, AClosedTraceIsOneFileWithIndexes) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 1);
  EXPECT_TRUE(std::filesystem::exists(file.path() + "-wal"));
  writer.Close();
  writer.Close();  // idempotent
  EXPECT_FALSE(std::filesystem::exists(file.path() + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(file.path() + "-shm"));
  Database database(file.path(), OpenMode::kReadOnly);
  Statement mode(database, "PRAGMA journal_mode");
  ASSERT_TRUE(mode.Step());
  EXPECT_EQ(mode.Text(0), "delete");
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND name LIKE "
                                  "'LANESCOPE%CORRELATION'"),
            3);
  EXPECT_EQ(database.QueryInteger("PRAGMA application_id"), 0x4c6e5363);
}

TEST(TraceWriterTest, LostAndUnknownEventsAreCounted) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  writer.Sink(run)->Consume(
      std::vector<Event>{SampleRun::Command(CommandId(99), 0, 0, 1), SampleRun::Command({}, 0, 0, 1)});
  writer.Sink(run)->CountDropped(7);
  writer.EndRun(run, {});
  writer.Close();
  EXPECT_EQ(TraceReader(file.path()).ReadRun(run).dropped, 9);
}

TEST(TraceWriterTest, AFailedRunKeepsItsReason) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 1, {false, "ResourceExhausted: out of memory"});
  writer.Close();
  EXPECT_EQ(TraceReader(file.path()).RunInfoOf(1).error, "ResourceExhausted: out of memory");
}

// Measured runs: times count from BeginRun.
TEST(TraceWriterTest, MeasuredTimesCountFromTheStartOfTheRun) {
  ScratchFile file;
  SampleRun sample(false);
  TraceWriter writer(file.path());
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  const int64_t now = NowNs();
  writer.Sink(run)->Consume(std::vector<Event>{SampleRun::Step(0, now, now + 500)});
  writer.EndRun(run, {});
  writer.Close();
  const TraceRun read = TraceReader(file.path()).ReadRun(run);
  ASSERT_EQ(read.steps.size(), 1u);
  EXPECT_EQ(read.steps[0].start_ns + read.info.clock_origin_ns, now);
  EXPECT_GE(read.steps[0].start_ns, 0);
}

TEST(TraceWriterTest, ReadersSeeCommittedStepsWhileWritingGoesOn) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  writer.Flush();
  std::atomic<bool> stop{false};
  std::thread producer([&] {
    for (int step = 0; !stop; ++step) {
      writer.Sink(run)->Consume(SampleRun::StepEvents(step, step * 1000));
      if (step % 100 == 99) writer.Flush();
    }
  });
  size_t seen = 0;
  while (seen < 1000) {
    const TraceRun read = TraceReader(file.path()).ReadRun(run);
    EXPECT_FALSE(read.info.complete);
    EXPECT_GE(read.steps.size(), seen);
    // A step's six activities come before its end, and a read sees one state of the file.
    EXPECT_EQ(read.launches.size() + read.copies.size(), 6 * read.steps.size());
    seen = read.steps.size();
  }
  stop = true;
  producer.join();
  writer.EndRun(run, {});
  writer.Close();
  EXPECT_TRUE(TraceReader(file.path()).RunInfoOf(run).complete);
}

TEST(TraceWriterTest, AKilledProcessLeavesAReadableIncompleteRun) {
  ScratchFile file;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SampleRun sample;
    TraceWriter writer(file.path());
    const int run = writer.BeginRun(sample.info());
    writer.AddSchedule(run, sample.schedule());
    for (int step = 0; step < 1000; ++step) {
      writer.Sink(run)->Consume(SampleRun::StepEvents(step, step * 1000));
    }
    writer.Flush();
    const char ready = 'r';
    if (write(pipes[1], &ready, 1) != 1) _exit(1);
    for (int step = 1000;; ++step) writer.Sink(run)->Consume(SampleRun::StepEvents(step, step * 1000));
  }
  char ready = 0;
  ASSERT_EQ(read(pipes[0], &ready, 1), 1);
  usleep(100'000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipes[0]);
  close(pipes[1]);

  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  EXPECT_FALSE(run.info.complete);
  EXPECT_GE(run.steps.size(), 1000u);  // what was flushed is there
  Database database(file.path(), OpenMode::kReadOnly);
  Statement check(database, "PRAGMA integrity_check");
  ASSERT_TRUE(check.Step());
  EXPECT_EQ(check.Text(0), "ok");
  // And the file takes another run.
  SampleRun sample;
  TraceWriter writer(file.path());
  EXPECT_EQ(sample.WriteTo(&writer, 1), 2);
  writer.Close();
  EXPECT_EQ(TraceReader(file.path()).Runs().size(), 2u);
}

// A new trace without a run is not left; one that is there already stays as it is.
TEST(TraceWriterTest, ATraceWithoutARunIsNotLeft) {
  ScratchFile file;
  for (const NewTrace appears : {NewTrace::kWithFirstRun, NewTrace::kWhenClosed}) {
    { TraceWriter writer(file.path(), appears); }
    EXPECT_TRUE(std::filesystem::is_empty(file.folder()));
  }
  SampleRun sample;
  {
    TraceWriter writer(file.path());
    sample.WriteTo(&writer, 1);
  }
  { TraceWriter writer(file.path()); }
  EXPECT_EQ(TraceReader(file.path()).Runs().size(), 1u);
}

// Law: who began no run leaves the file to the other one that has it open, or has written into it.
TEST(TraceWriterTest, ATraceThatOthersWriteIsLeft) {
  ScratchFile file;
  SampleRun sample;
  for (const bool still_open : {true, false}) {
    TraceWriter first(file.path()), second(file.path());
    if (!still_open) {
      sample.WriteTo(&second, 1);
      second.Close();
    }
    first.Close();
    EXPECT_TRUE(std::filesystem::exists(file.path()));
    if (still_open) sample.WriteTo(&second, 1);
    second.Close();
    EXPECT_EQ(TraceReader(file.path()).Runs().size(), 1u);
    std::filesystem::remove(file.path());
  }
}

TEST(TraceWriterTest, MisuseIsAnError) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  EXPECT_THROW(writer.AddSchedule(5, sample.schedule()), Error);
  EXPECT_THROW(writer.EndRun(5, {}), Error);
  EXPECT_EQ(sample.WriteTo(&writer, 1), 1);  // still works
  writer.Close();
  EXPECT_THROW(writer.BeginRun(sample.info()), Error);
}

}  // namespace
}  // namespace lanescope::traces
