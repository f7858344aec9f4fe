// SPDX-License-Identifier: Apache-2.0
// The clock of a GPU that logical devices share, read for each by itself.
#include "sims/steps/part_clocks.h"

#include <gtest/gtest.h>

#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

constexpr int64_t kHandOff = 1'000;

// Two logical devices of one GPU hand over to each other, first there and then back.
class PartClocks : public testing::Test {
 protected:
  PartClocks() {
    for (const DeviceId gpu : machine_.Gpus()) {
      machine_.devices[gpu].kind = DeviceKind::kLogical;
      machine_.devices[gpu].physical = 0;
      machine_.devices[gpu].in_order = true;
    }
    first_ = maker_.Queue(machine_.Gpus()[0], QueueKind::kCompute, true);
    second_ = maker_.Queue(machine_.Gpus()[1], QueueKind::kCompute, true);
    a_ = maker_.Launch(first_, 10'000);
    b_ = maker_.Launch(second_, 10'000, {a_});
  }
  // The commands one after the other, those of the second device as read `late` later.
  MeasuredStep StepOf(const Schedule& schedule, int64_t late) const {
    MeasuredStep step;
    int64_t now = 100'000;
    for (const CommandId c : schedule.commands.ids()) {
      const int64_t error = schedule.commands[c].queue == second_ ? late : 0;
      step.command_start_ns.Add(now + error);
      step.command_end_ns.Add(now + 10'000 + error);
      now += 10'000 + kHandOff;
    }
    step.end_ns = now;
    return step;
  }

  Machine machine_ = StarMachine(2, 1e9, 0, 0);
  ScheduleMaker maker_;
  QueueId first_, second_;
  CommandId a_, b_;
};

// Law: hand-offs take the same in both directions, by the reading that is less late, step by step.
TEST_F(PartClocks, AreAlignedByWhatGoesBothWays) {
  maker_.Launch(first_, 10'000, {b_});
  const Schedule schedule = maker_.Build();
  std::vector<MeasuredStep> steps = {StepOf(schedule, 8'000), StepOf(schedule, -6'000), StepOf(schedule, 0)};
  AlignParts(schedule, machine_, &steps);
  const MeasuredStep right = StepOf(schedule, 0);
  EXPECT_EQ(steps[0].command_start_ns, right.command_start_ns);
  EXPECT_EQ(steps[2].command_end_ns, right.command_end_ns);
  // The second device was read soonest there, the first one later than that.
  for (const CommandId c : schedule.commands.ids())
    EXPECT_EQ(steps[1].command_start_ns[c], right.command_start_ns[c] - 6'000);
}

// Law: in one direction alone a hand-off cannot be told from an error.
TEST_F(PartClocks, StayWhereNothingGoesBack) {
  const Schedule schedule = maker_.Build();
  std::vector<MeasuredStep> steps = {StepOf(schedule, 8'000)};
  AlignParts(schedule, machine_, &steps);
  EXPECT_EQ(steps[0].command_start_ns, StepOf(schedule, 8'000).command_start_ns);
}

// Law: other GPUs have clocks of their own.
TEST_F(PartClocks, OfTwoGpusStay) {
  maker_.Launch(first_, 10'000, {b_});
  machine_.devices[machine_.Gpus()[1]].physical = 1;
  const Schedule schedule = maker_.Build();
  std::vector<MeasuredStep> steps = {StepOf(schedule, 8'000)};
  AlignParts(schedule, machine_, &steps);
  EXPECT_EQ(steps[0].command_start_ns, StepOf(schedule, 8'000).command_start_ns);
}

}  // namespace
}  // namespace lanescope::sims
