// SPDX-License-Identifier: Apache-2.0
#include "traces/read/recorded_schedule.h"

#include <gmock/gmock.h>

#include "tests/core/base/expect_error.h"
#include "tests/support/paths.h"
#include "tests/traces/sample_run.h"
#include "traces/store/schema.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

using ::testing::HasSubstr;

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

// Law: files of before the first version, which say nothing of their queues, are neither read nor written to.
TEST(RecordedScheduleTest, VersionTwoIsRefused) {
  ScratchFile file;
  SampleRun sample;
  Write(file.path(), sample);
  MakeVersionTwo(file.path());
  EXPECT_THAT(ErrorOf([&] { TraceReader(file.path()); }),
              HasSubstr("was written before the first version of Lanescope; record it anew"));
  EXPECT_THAT(ErrorOf([&] { Write(file.path(), sample); }), HasSubstr("it was not touched"));
}

TEST(RecordedScheduleTest, CommandsOfNoQueueAreDataLoss) {
  ScratchFile file;
  SampleRun sample;
  Write(file.path(), sample);
  Database(file.path(), OpenMode::kReadWrite).Execute("DELETE FROM LANESCOPE_QUEUE WHERE queue = 2");
  EXPECT_THAT(ErrorOf([&] { TraceReader(file.path()).ReadRun(1); }),
              HasSubstr("LANESCOPE_QUEUE has no queue 2 of schedule 0"));
}

TEST(RecordedScheduleTest, TheCommittedTraceOpens) {
  const std::string path = test::SourceDir() + "/samples/traces/deepconn-two-virtual-gpus.db";
  for (const TraceRunInfo& info : TraceReader(path).Runs())
    EXPECT_FALSE(Read(path, info.id).schedule.queues.empty());
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
