// SPDX-License-Identifier: Apache-2.0
#include "traces/read/recorded_schedule.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/paths.h"
#include "tests/traces/sample_run.h"
#include "traces/store/schema.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

// The sample's schedule on queues of every sort.
Schedule ScheduleOfAllSorts(const SampleRun& sample) {
  Schedule schedule = sample.schedule();
  schedule.queues[QueueId(0)].workers = 4;
  schedule.queues[QueueId(1)].in_order = schedule.queues[QueueId(3)].in_order = true;
  return schedule;
}

void Write(const std::string& path, const SampleRun& sample) {
  TraceWriter writer(path);
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, ScheduleOfAllSorts(sample));
  writer.Sink(run)->Consume(SampleRun::StepEvents(0, 0));
  writer.EndRun(run, {});
  writer.Close();
}

bool AreInferred(const std::string& path, int run_id) {
  return TraceReader(path).ReadRun(run_id).queues_inferred();
}

RecordedSchedule Read(const std::string& path, int run_id) {
  const TraceRun run = TraceReader(path).ReadRun(run_id);
  return ReadSchedule(run, 0, ParseMachine(run.info.machine_json));
}

void MakeVersionTwo(const std::string& path) {
  Database(path, OpenMode::kReadWrite)
      .Execute("DROP TABLE LANESCOPE_QUEUE; UPDATE LANESCOPE_SCHEMA SET version = 2; PRAGMA user_version=2");
}

TEST(RecordedScheduleTest, QueuesAreReadBackAsTheyWere) {
  ScratchFile file;
  SampleRun sample;
  Write(file.path(), sample);
  const RecordedSchedule recorded = Read(file.path(), 1);
  EXPECT_FALSE(AreInferred(file.path(), 1));
  const Schedule expected = ScheduleOfAllSorts(sample);
  ASSERT_EQ(recorded.schedule.queues.size(), expected.queues.size());
  for (const QueueId q : expected.queues.ids()) {
    const Queue &found = recorded.schedule.queues[q], &wanted = expected.queues[q];
    EXPECT_EQ(found.device, wanted.device) << q.number();
    EXPECT_EQ(found.kind, wanted.kind) << q.number();
    EXPECT_EQ(found.in_order, wanted.in_order) << q.number();
    EXPECT_EQ(found.workers, wanted.workers) << q.number();
    EXPECT_EQ(found.name, wanted.name) << q.number();
  }
  for (const CommandId c : expected.commands.ids())
    EXPECT_EQ(recorded.schedule.commands[c].queue, expected.commands[c].queue) << c.number();
}

// Copies into a device from elsewhere stand on a queue for copies in, others on one for copies out; nothing
// says that a queue is in order, or how many workers it has.
TEST(RecordedScheduleTest, QueuesOfVersionTwoAreInferredAndSaidToBe) {
  ScratchFile file;
  SampleRun sample;
  Write(file.path(), sample);
  MakeVersionTwo(file.path());
  const RecordedSchedule recorded = Read(file.path(), 1);
  EXPECT_TRUE(AreInferred(file.path(), 1));
  std::vector<QueueKind> kinds;
  for (const Queue& queue : recorded.schedule.queues) {
    kinds.push_back(queue.kind);
    EXPECT_FALSE(queue.in_order);
    EXPECT_EQ(queue.workers, 1);
  }
  using enum QueueKind;
  EXPECT_EQ(kinds, (std::vector<QueueKind>{kCompute, kCompute, kCopyIn, kCompute, kCopyIn, kCopyOut}));
}

TEST(RecordedScheduleTest, RunsAppendedToVersionTwoHaveQueuesAndOlderOnesDoNot) {
  ScratchFile file;
  SampleRun sample;
  Write(file.path(), sample);
  MakeVersionTwo(file.path());
  Write(file.path(), sample);
  EXPECT_TRUE(AreInferred(file.path(), 1));
  EXPECT_FALSE(AreInferred(file.path(), 2));
  EXPECT_TRUE(Read(file.path(), 2).schedule.queues[QueueId(1)].in_order);
  EXPECT_EQ(Database(file.path(), OpenMode::kReadOnly).QueryInteger("PRAGMA user_version"), kSchemaVersion);
}

// Only an in-order queue needs Record and Wait.
TEST(RecordedScheduleTest, RecordsTellAnInOrderQueueOfVersionTwo) {
  ScratchFile file;
  SampleRun sample;
  Write(file.path(), sample);
  MakeVersionTwo(file.path());
  Database(file.path(), OpenMode::kReadWrite)
      .Execute(
          "INSERT INTO LANESCOPE_COMMAND (runId, schedule, commandId, kind, queue, rank, deviceId) "
          "VALUES (1, 0, 6, 'record', 3, 6, 1)");
  const RecordedSchedule recorded = Read(file.path(), 1);
  EXPECT_TRUE(recorded.schedule.queues[QueueId(3)].in_order);
  EXPECT_EQ(recorded.schedule.queues[QueueId(3)].kind, QueueKind::kCompute);
  EXPECT_FALSE(recorded.schedule.queues[QueueId(1)].in_order);
}

TEST(RecordedScheduleTest, TheCommittedTraceOfVersionTwoOpens) {
  const std::string path = test::SourceDir() + "/samples/traces/deepconn-two-virtual-gpus.db";
  for (const TraceRunInfo& info : TraceReader(path).Runs()) {
    const RecordedSchedule recorded = Read(path, info.id);
    EXPECT_TRUE(AreInferred(path, info.id));
    EXPECT_FALSE(recorded.schedule.queues.empty());
  }
}

TEST(RecordedScheduleTest, AQueueOfNoKindIsDataLoss) {
  ScratchFile file;
  SampleRun sample;
  Write(file.path(), sample);
  Database(file.path(), OpenMode::kReadWrite)
      .Execute("UPDATE LANESCOPE_QUEUE SET kind = 'x' WHERE queue = 2");
  EXPECT_THROW(TraceReader(file.path()).ReadRun(1), Error);
}

}  // namespace
}  // namespace lanescope::traces
