// SPDX-License-Identifier: Apache-2.0
// Streams whose commands a thread issues: what waits for what, and what that takes. Every expected time is
// counted by hand.
#include "sims/engine/issued_schedule.h"

#include <gtest/gtest.h>

#include "sims/engine/simulation_model.h"
#include "sims/engine/simulator.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

// A host, and a GPU of hardware with a compute stream and one for copies out of it.
class IssuedScheduleTest : public testing::Test {
 protected:
  IssuedScheduleTest() : machine_(StarMachine(1, 1e9, 0, 0)) {
    machine_.devices[gpu()].kind = DeviceKind::kCuda;
    machine_.devices[gpu()].in_order = true;
    machine_.devices[machine_.host()].kind = DeviceKind::kHost;
    host_ = maker_.Queue(machine_.host(), QueueKind::kCompute, false);
    stream_ = maker_.Queue(gpu(), QueueKind::kCompute, true);
    copies_ = maker_.Queue(gpu(), QueueKind::kCopyOut, true);
  }

  DeviceId gpu() const { return machine_.Gpus()[0]; }
  // Launches are issued as `issue` says, in the order in which they were made; recordable beyond its end.
  SimulationResult Run(const std::vector<StreamIssue>& issue) {
    schedule_ = maker_.Build();
    schedule_.issue.assign(schedule_.commands.size(), StreamIssue::kRecordable);
    for (size_t c = 0; c < issue.size(); ++c) schedule_.issue[CommandId(c)] = issue[c];
    SimulationModel model;
    model.issue = StreamIssueTimes{.single_ns = 5, .segment_ns = 20, .recorded_ns = 1};
    return Simulate(schedule_, machine_, CommandCosts{.ns = maker_.ns()}, model);
  }

  Machine machine_;
  ScheduleMaker maker_;
  QueueId host_, stream_, copies_;
  Schedule schedule_;
};

TEST_F(IssuedScheduleTest, SmallLaunchesAreBoundByTheThreadThatIssuesThem) {
  // Ten kernels of 2 ns, one issued every 5: the k-th starts at 5 k, the last ends at 50 + 2.
  for (int i = 0; i < 10; ++i) maker_.Launch(stream_, 2);
  EXPECT_EQ(Run(std::vector<StreamIssue>(10, StreamIssue::kSingle)).step_ns, 52);
}

TEST_F(IssuedScheduleTest, ASegmentIsIssuedAtOnce) {
  // 20 for it, then ten kernels of 2.
  for (int i = 0; i < 10; ++i) maker_.Launch(stream_, 2);
  EXPECT_EQ(Run({}).step_ns, 40);
}

TEST_F(IssuedScheduleTest, ASegmentWaitsForAllThatItNeedsOfTheHost) {
  // Its first kernel needs what the host has at 100, its second what it has at 200: 200 + 20, then 3 of 2.
  const CommandId first = maker_.Launch(host_, 100), second = maker_.Launch(host_, 100);
  const CommandId kernel = maker_.Launch(stream_, 2, {first});
  maker_.Launch(stream_, 2, {second});
  maker_.Launch(stream_, 2);
  const SimulationResult result = Run({});
  EXPECT_EQ(result.times[kernel].start_ns, 220);
  EXPECT_EQ(result.step_ns, 226);
}

// A copy in the same segment waits for no kernel, but three come before it: 20 + 3. Its stream's next one is
// there by then.
TEST_F(IssuedScheduleTest, ASegmentReachesTheDeviceCommandByCommand) {
  for (int i = 0; i < 3; ++i) maker_.Launch(stream_, 100);
  maker_.Launch(copies_, 4);
  maker_.Launch(copies_, 4);
  const SimulationResult result = Run({});
  EXPECT_EQ(result.times[CommandId(0)].start_ns, 20);
  EXPECT_EQ(result.times[CommandId(3)].start_ns, 23);
  EXPECT_EQ(result.times[CommandId(4)].start_ns, 27);
}

TEST_F(IssuedScheduleTest, TheHostLearnsOfASegmentAsAWhole) {
  // The host needs the first of three kernels of 10, and goes on after the last: 20 + 30 + 7.
  const CommandId first = maker_.Launch(stream_, 10);
  maker_.Launch(stream_, 10);
  maker_.Launch(stream_, 10);
  maker_.Launch(host_, 7, {first});
  EXPECT_EQ(Run({}).step_ns, 57);
}

TEST_F(IssuedScheduleTest, WhatIsIssuedAfterASegmentBeginsAfterIt) {
  // Three kernels of 10 in a segment, which ends at 20 + 30, then one alone on the other stream, issued
  // meanwhile: it begins at 50 though it waits for nothing.
  for (int i = 0; i < 3; ++i) maker_.Launch(stream_, 10);
  maker_.Launch(copies_, 4);
  const SimulationResult result = Run(
      {StreamIssue::kRecordable, StreamIssue::kRecordable, StreamIssue::kRecordable, StreamIssue::kSingle});
  EXPECT_EQ(result.times[CommandId(3)].start_ns, 50);
  EXPECT_EQ(result.step_ns, 54);
}

TEST_F(IssuedScheduleTest, ACommandWithAPartForTheHostIsIssuedOnceItsStreamIsEmpty) {
  // 5 for the kernel, which ends at 105; 5 for the next, of 2.
  maker_.Launch(stream_, 100);
  maker_.Launch(stream_, 2);
  EXPECT_EQ(Run({StreamIssue::kSingle, StreamIssue::kSettled}).step_ns, 112);
}

TEST_F(IssuedScheduleTest, WhatRunsNothingTakesNoTimeAndNoGap) {
  maker_.Launch(stream_, 10);
  maker_.Launch(stream_, 0);
  maker_.Launch(stream_, 10);
  schedule_ = maker_.Build();
  schedule_.issue.assign(3, StreamIssue::kSingle);
  schedule_.issue[CommandId(1)] = StreamIssue::kNothing;
  SimulationModel model;
  for (auto& gaps : model.delays.gap_ns) gaps.fill(3);
  EXPECT_EQ(Simulate(schedule_, machine_, CommandCosts{.ns = maker_.ns()}, model).step_ns, 23);
}

// Law: what there is beside the original keeps its numbers to itself.
TEST_F(IssuedScheduleTest, ResultsAreOfTheOriginalsCommandsAndQueues) {
  for (int i = 0; i < 4; ++i) maker_.Launch(stream_, 2);
  const SimulationResult result = Run({});
  EXPECT_EQ(result.times.size(), schedule_.commands.size());
  EXPECT_EQ(result.queue_busy_ns.size(), schedule_.queues.size());
}

}  // namespace
}  // namespace lanescope::sims
