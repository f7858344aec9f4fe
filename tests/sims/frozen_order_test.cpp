// SPDX-License-Identifier: Apache-2.0
// Simulator::StepNs says what Simulator::Run says, whichever way it takes.
#include <gtest/gtest.h>

#include "sims/engine/simulation_model.h"
#include "sims/engine/simulator.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/random_schedule.h"

namespace lanescope::sims {
namespace {

Delays Gaps(Random* random) {
  Delays gaps{.step_start_ns = random->below(5'000), .step_finish_ns = random->below(3'000)};
  for (auto& kind : gaps.gap_ns) {
    for (int64_t& ns : kind) ns = random->below(3'000);
  }
  for (auto& from : gaps.handoff_ns) {
    for (int64_t& ns : from) ns = random->below(2) * random->below(5'000);
  }
  return gaps;
}

// Every command at up to `percent` more or less.
CommandCosts Vary(const CommandCosts& costs, int percent, Random* random) {
  CommandCosts varied = costs;
  for (int64_t& ns : varied.ns) ns = ns * (100 - percent + random->below(2 * percent + 1)) / 100;
  return varied;
}

// How many of the steps came from a pass.
int ExpectSameAsRuns(const Schedule& schedule, const Machine& machine, const CommandCosts& costs,
                     const SimulationModel& model, Random* random) {
  Simulator simulator(schedule, machine, model);
  SimulationResult base, full;
  simulator.Run(costs, &base);
  simulator.Freeze(base);
  EXPECT_EQ(simulator.StepNs(costs), base.step_ns);
  for (int i = 0; i < 12; ++i) {
    const CommandCosts varied = Vary(costs, i < 8 ? 4 : 60, random);
    Simulator(schedule, machine, model).Run(varied, &full);
    EXPECT_EQ(simulator.StepNs(varied), full.step_ns) << i;
  }
  return simulator.passes();
}

TEST(FrozenOrderTest, StepsAreThoseOfRuns) {
  int passes = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const Machine machine =
        StarMachine(2 + random.below(3), 1e9, random.below(3) * 700, random.below(2) == 0 ? 0 : 1.7e9);
    const ScheduleMaker maker = RandomSchedule(machine, 60, &random);
    ScheduleMaker built = maker;
    CommandCosts costs{.ns = maker.ns()};
    // Instants of several rounds: much that takes no time, and what takes the same time.
    if (seed % 3 == 0) {
      for (int64_t& ns : costs.ns) ns = random.below(4) == 0 ? 0 : 1'000'000 * (1 + random.below(3));
    }
    Schedule schedule = built.Build();
    for (Queue& queue : schedule.queues) {
      if (!queue.in_order && seed % 2 == 0) queue.workers = 1 + random.below(4);
    }
    for (Command& command : schedule.commands) command.workers = 1 + random.below(3);
    SimulationModel model;
    model.share_links = random.below(2) == 0;
    model.delays = Gaps(&random);
    passes += ExpectSameAsRuns(schedule, machine, costs, model, &random);
  }
  EXPECT_GT(passes, 300);
}

// One device in order: nothing to choose, so that no cost needs a simulation.
TEST(FrozenOrderTest, QueuesInOrderAreNeverSimulated) {
  const Machine machine = StarMachine(1, 1e9, 700, 0);
  const DeviceId gpu = machine.Gpus().front();
  ScheduleMaker maker;
  const QueueId compute = maker.Queue(gpu, QueueKind::kCompute, true),
                in = maker.Queue(gpu, QueueKind::kCopyIn, true);
  CommandId last;
  for (int i = 0; i < 50; ++i) {
    const CommandId copy = maker.Copy(in, machine.host(), gpu, 1'000'000, 1'000'700);
    std::vector<CommandId> after{copy};
    if (last.exists()) after.push_back(last);
    last = maker.Launch(compute, 900'000, after);
  }
  Random random(1);
  const CommandCosts costs{.ns = maker.ns()};
  EXPECT_EQ(ExpectSameAsRuns(maker.Build(), machine, costs, ModelOf(), &random), 13);
}

// Two commands without an order between them: the one that is ready first goes first, whatever ran first in
// the run that was frozen.
TEST(FrozenOrderTest, AnotherOrderIsSimulated) {
  const Machine machine = StarMachine(2, 1e9, 0, 0);
  ScheduleMaker maker;
  const QueueId one = maker.Queue(machine.Gpus()[0]), two = maker.Queue(machine.Gpus()[1]);
  const CommandId a = maker.Launch(one, 10'000), b = maker.Launch(one, 10'000, {a});
  const CommandId early = maker.Launch(two, 5'000, {a}), late = maker.Launch(two, 50'000, {b});
  maker.Launch(one, 70'000, {early});
  const Schedule schedule = maker.Build();
  Simulator simulator(schedule, machine, ModelOf());
  SimulationResult result;
  CommandCosts costs{.ns = maker.ns()};
  simulator.Run(costs, &result);
  simulator.Freeze(result);
  EXPECT_EQ(simulator.StepNs(costs), result.step_ns);
  EXPECT_EQ(simulator.passes(), 1);
  costs.ns[b] = 1'000'000;
  costs.ns[late] = 1;
  simulator.Run(costs, &result);
  EXPECT_EQ(simulator.StepNs(costs), result.step_ns);
}

}  // namespace
}  // namespace lanescope::sims
