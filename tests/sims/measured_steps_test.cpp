// SPDX-License-Identifier: Apache-2.0
#include "sims/steps/measured_steps.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

// A step of a GPU of hardware: a launch, a node that runs nothing and so has no event, and a command of the
// host, whose time was noted before it waited for the stream. The step is complete, and the host's command
// begins when the stream is through.
TEST(MeasuredSteps, OfStreamsAreCompleteWithoutEventsOfWhatRunsNothing) {
  Machine machine = StarMachine(1, 1e9, 0, 0);
  ScheduleMaker maker;
  const QueueId stream = maker.Queue(machine.Gpus()[0], QueueKind::kCompute, true);
  const QueueId host = maker.Queue(machine.host());
  const CommandId launch = maker.Launch(stream, 100);
  const CommandId nothing = maker.Launch(stream, 0, {launch});
  const CommandId after = maker.Launch(host, 10, {launch});
  Schedule schedule = maker.Build();
  const std::vector<Event> events = {
      {.start_ns = 0, .end_ns = 130, .step = 0, .kind = EventKind::kStep},
      {.start_ns = 10, .end_ns = 110, .command = launch, .step = 0},
      {.start_ns = 12, .end_ns = 125, .command = after, .step = 0},
  };
  EXPECT_TRUE(GroupSteps(schedule, events, 0).empty()) << "every launch of host threads has an event";
  schedule.issue.assign(schedule.commands.size(), StreamIssue::kSingle);
  schedule.issue[nothing] = StreamIssue::kNothing;
  const auto steps = GroupSteps(schedule, events, 0);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].command_end_ns[nothing], 110);
  EXPECT_EQ(steps[0].command_start_ns[after], 110);
  EXPECT_EQ(steps[0].command_end_ns[after], 125);
}

// Law: of a profiler's events a launch has one for each of its kernels, which may begin while the kernel
// before ends, and none in any step where it makes no kernel; one that has an event in another step was lost.
TEST(MeasuredSteps, OfAProfilerAreCompleteWithoutLaunchesThatMakeNoKernel) {
  Machine machine = StarMachine(1, 1e9, 0, 0);
  ScheduleMaker maker;
  const QueueId stream = maker.Queue(machine.Gpus()[0], QueueKind::kCompute, true);
  const CommandId first = maker.Launch(stream, 100), second = maker.Launch(stream, 50);
  const CommandId silent = maker.Launch(stream, 0);
  Schedule schedule = maker.Build();
  schedule.issue.assign(schedule.commands.size(), StreamIssue::kSingle);
  std::vector<Event> events;
  for (const int step : {0, 1}) {
    events.push_back({.start_ns = 0, .end_ns = 200, .step = step, .kind = EventKind::kStep});
    events.push_back({.start_ns = 10, .end_ns = 110, .command = first, .step = step});
    events.push_back({.start_ns = 108, .end_ns = 130, .command = second, .step = step});
    events.push_back({.start_ns = 131, .end_ns = 160, .command = second, .step = step});
  }
  const auto steps = GroupSteps(schedule, events, 0);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].command_start_ns[second], 110);
  EXPECT_EQ(steps[0].command_end_ns[second], 160);
  EXPECT_EQ(steps[0].command_start_ns[silent], 160);
  EXPECT_EQ(steps[0].command_end_ns[silent], 160);
  events.push_back({.start_ns = 160, .end_ns = 170, .command = silent, .step = 1});
  EXPECT_EQ(GroupSteps(schedule, events, 0).size(), 1u);
}

}  // namespace
}  // namespace lanescope::sims
