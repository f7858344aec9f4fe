// SPDX-License-Identifier: Apache-2.0
// Captured kernels of a graph that Lanescope runs itself find their commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "core/machine/cluster_tasks.h"
#include "core/record/recorder.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/record/activity_rows.h"
#include "traces/record/launch_audit.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

// A run of a graph on two real GPUs: events of commands there come from the capture, those of the host from
// the executor.
class CapturedRunTest : public testing::Test {
 protected:
  CapturedRunTest() : sample_(false), writer_(file_.path()) {
    machine_ = *sample_.info().machine;
    int ordinal = 0;
    for (const DeviceId gpu : machine_.Gpus()) {
      machine_.devices[gpu].kind = DeviceKind::kCuda;
      machine_.devices[gpu].physical = ordinal++;
    }
    sample_.info().machine = &machine_;
    run_ = writer_.BeginRun(sample_.info());
    writer_.AddSchedule(run_, sample_.schedule());
    sink_ = writer_.Capture(run_);
    now_ = NowNs();
    batch_.pid = static_cast<uint32_t>(getpid());
  }
  void AddKernel(uint32_t device, uint32_t correlation, uint64_t graph_node = 0) {
    KernelRow row;
    row.name = batch_.AddText("kernel");
    row.start = now_ + 10;
    row.end = now_ + 20;
    row.device = device;
    row.stream = 13;
    row.correlation = correlation;
    row.graph_node = graph_node;
    batch_.kernels.push_back(row);
  }
  TraceRun Finish() {
    sink_->Consume(batch_);
    writer_.EndRun(run_, {});
    writer_.Close();
    return TraceReader(file_.path()).ReadRun(run_);
  }

  ScratchFile file_;
  SampleRun sample_;
  Machine machine_;
  TraceWriter writer_;
  int run_ = 0;
  ActivitySink* sink_ = nullptr;
  int64_t now_ = 0;
  ActivityBatch batch_;
};

TEST_F(CapturedRunTest, KernelsBelongToTheirCommands) {
  std::vector<Event> events = SampleRun::StepEvents(0, now_);
  writer_.Sink(run_)->Consume(events);
  AddKernel(0, 100);  // of command 2, node "a"
  AddKernel(0, 100);  // an op may launch several
  AddKernel(1, 101);  // of command 4, node "b"
  AddKernel(1, 102);  // of nobody
  batch_.tags = {{MakeActivityTag(0, 0, 2), 100, 0}, {MakeActivityTag(0, 0, 4), 101, 0}};
  const TraceRun run = Finish();
  // The host op of the executor and the kernels of the capture; no GPU command twice.
  ASSERT_EQ(run.launches.size(), 5u);
  EXPECT_EQ(run.copies.size(), 0u);
  EXPECT_EQ(run.steps.size(), 1u);
  std::vector<std::pair<int, int>> found;
  for (const TraceLaunch& launch : run.launches) found.emplace_back(launch.command, launch.device);
  EXPECT_THAT(found,
              testing::UnorderedElementsAre(testing::Pair(0, 2), testing::Pair(2, 0), testing::Pair(2, 0),
                                            testing::Pair(4, 1), testing::Pair(-1, 1)));
  // A command's kernels are in its lane.
  for (const TraceLaunch& launch : run.launches) {
    EXPECT_TRUE(launch.command != 2 || launch.stream == 1);
    EXPECT_TRUE(launch.command != -1 || launch.stream == 13);
  }
}

// Each task calls its first GPU 0; in a run of several processes they are told apart.
TEST(CapturedJobTest, GpusOfTasksAreToldApart) {
  Machine each = VirtualMachine(1, 1);
  each.devices[DeviceId(1)].kind = DeviceKind::kCuda;
  each.devices[DeviceId(1)].physical = 0;
  const Machine machine = MachineOfTasks(each, ParseClusterTasks("worker=a,b"));
  ScratchFile file;
  TraceWriter writer(file.path());
  RunInfo info;
  info.machine = &machine;
  const int run = writer.BeginRun(info);
  ActivityBatch batch;
  batch.pid = static_cast<uint32_t>(getpid());
  for (const int task : {1, 0}) {
    KernelRow& row = batch.kernels.emplace_back();
    row.start = NowNs();
    row.end = row.start + 10;
    row.device = GpuOfTask(task, 0);
  }
  writer.Capture(run)->Consume(batch);
  writer.EndRun(run, {});
  writer.Close();
  const TraceRun read = TraceReader(file.path()).ReadRun(run);
  std::map<int, std::string> names;
  for (const TraceDevice& device : read.devices) names[device.id] = device.name;
  ASSERT_EQ(read.launches.size(), 2u);
  EXPECT_THAT(names[read.launches[0].device], testing::HasSubstr("task:1"));
  EXPECT_THAT(names[read.launches[1].device], testing::HasSubstr("task:0"));
}

// Memory over time follows the captured kernels, as it follows the executor's events: in use from the start
// of the command that makes a value to the end of the last one that reads it.
TEST_F(CapturedRunTest, MemoryOverTimeFollowsTheCapturedKernels) {
  AddKernel(0, 100);
  AddKernel(1, 101);
  batch_.tags = {{MakeActivityTag(0, 0, 2), 100, 0}, {MakeActivityTag(0, 0, 4), 101, 0}};
  const TraceRun run = Finish();
  const auto most = std::max_element(run.memory.begin(), run.memory.end(), [](const auto& a, const auto& b) {
    return std::pair(a.device == 1, a.bytes) < std::pair(b.device == 1, b.bytes);
  });
  ASSERT_NE(most, run.memory.end());
  EXPECT_EQ(most->device, 1);
  EXPECT_EQ(most->bytes, 32 + 16);  // what "b" reads and what it makes
}

TEST_F(CapturedRunTest, TagsThatComeLaterStillAttribute) {
  AddKernel(0, 100);
  sink_->Consume(batch_);
  batch_.kernels.clear();
  batch_.tags = {{MakeActivityTag(0, 7, 2), 100, 0}};
  const TraceRun run = Finish();
  ASSERT_EQ(run.launches.size(), 1u);
  EXPECT_EQ(run.launches[0].command, 2);
  EXPECT_EQ(run.launches[0].step, 7);
}

// One launch of a CUDA graph replays two commands; their nodes tell which is which, the launch tells the
// step.
TEST_F(CapturedRunTest, NodesOfReplayedGraphsBelongToTheirCommands) {
  batch_.graph_nodes = {{0x100000001, MakeActivityTag(0, 0, 2)}, {0x100000002, MakeActivityTag(0, 0, 4)}};
  for (uint32_t step = 0; step < 3; ++step) {
    batch_.tags.push_back({MakeActivityTag(0, step, 2), 200 + step, 0});
    AddKernel(0, 200 + step, 0x100000001);
    AddKernel(1, 200 + step, 0x100000002);
    AddKernel(1, 200 + step, 0x100000009);  // a node that nobody knows belongs to no command
  }
  const TraceRun run = Finish();
  ASSERT_EQ(run.launches.size(), 9u);
  int known = 0;
  for (const TraceLaunch& launch : run.launches) {
    if (launch.command < 0) continue;
    ++known;
    EXPECT_EQ(launch.device, launch.command == 2 ? 0 : 1);
  }
  EXPECT_EQ(known, 6);
  Database database(file_.path(), OpenMode::kReadOnly);
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(DISTINCT step) FROM LANESCOPE_ACTIVITY"), 3);
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(*) FROM META_DATA_CAPTURE WHERE value LIKE '3 activities%'"),
            1);
}

TEST(TagJoinTest, TagsRoundTrip) {
  const uint64_t tag = MakeActivityTag(4000, 200000000, 16000000);
  EXPECT_EQ(TagSchedule(tag), 4000u);
  EXPECT_EQ(TagStep(tag), 200000000u);
  EXPECT_EQ(TagCommand(tag), 16000000u);
}

}  // namespace
}  // namespace lanescope::traces
