#include <gtest/gtest.h>

#include "sims/placement_evaluator.h"
#include "tests/sims/placement_world.h"

namespace lanescope::sims {
namespace {

constexpr int64_t kNoLimit = PlacementEvaluator::kTooLong - 1;

// With links that nobody shares and without variables, of which every version is copied by itself, the model
// leaves nothing out.
void ExpectEqual(const PlacementWorld& world, bool priorities, unsigned seed) {
  const StrategyInput input = world.input();
  const TaskGraph tasks(input);
  const PlacementModel model(tasks, world.gaps);
  PlacementEvaluator evaluator(model);
  std::mt19937 rng(seed);
  for (int i = 0; i < 30; ++i) {
    PlacementState state{world.RandomDevices(tasks, &rng), {}};
    for (int t = 0; priorities && t < tasks.num_tasks(); ++t)
      state.priority.push_back(static_cast<int>(rng() % 10));
    EXPECT_EQ(evaluator.Evaluate(state, kNoLimit),
              world.StepOf(tasks.ToPlacement(input, state.device, state.priority)))
        << seed << " " << i;
  }
}

GapModel Gaps() {
  GapModel gaps{.step_start_ns = 5'000, .step_finish_ns = 3'000};
  gaps.handoff_ns = {{{2'000, 4'000}, {1'000, 3'000}}};
  for (auto& kind : gaps.gap_ns) kind = {700, 300};
  gaps.issue_ns.fill(9'000);
  return gaps;
}

TEST(PlacementModelTest, EqualsTheSimulator) {
  for (unsigned seed = 1; seed <= 6; ++seed) ExpectEqual(PlacementWorld(seed, 40, 0), false, seed);
}

TEST(PlacementModelTest, EqualsTheSimulatorWithPriorities) {
  for (unsigned seed = 1; seed <= 6; ++seed) ExpectEqual(PlacementWorld(seed, 40, 0), true, seed);
}

TEST(PlacementModelTest, EqualsTheSimulatorWithGaps) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    PlacementWorld world(seed, 40, 0);
    world.gaps = Gaps();
    for (auto& kind : world.gaps.wake_ns) kind = {6'000, 2'000};
    ExpectEqual(world, true, seed);
  }
}

TEST(PlacementModelTest, EqualsTheSimulatorOfStreams) {
  for (const bool priorities : {false, true}) {
    PlacementWorld world(3, 40, 0);
    for (DeviceSpec& device : world.machine.devices) device.in_order = true;
    ExpectEqual(world, priorities, 1);
    world.gaps = Gaps();
    ExpectEqual(world, priorities, 2);
  }
}

// Devices of several workers run several small launches at once.
TEST(PlacementModelTest, EqualsTheSimulatorOfWorkers) {
  PlacementWorld world(4, 40, 0);
  for (DeviceSpec& device : world.machine.devices) {
    if (device.is_gpu()) device.kind = DeviceKind::kVirtual;
    device.workers = 3;
  }
  world.gaps = Gaps();
  ExpectEqual(world, false, 1);
  ExpectEqual(world, true, 2);
}

// Variables: reads, updates and their order. Only which copy of a variable waits for which update differs.
TEST(PlacementModelTest, IsNearTheSimulatorWithVariablesAndPriorities) {
  double error = 0;
  int count = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const PlacementWorld world(seed, 40, 3);
    const StrategyInput input = world.input();
    const TaskGraph tasks(input);
    const PlacementModel model(tasks, {});
    PlacementEvaluator evaluator(model);
    std::mt19937 rng(seed);
    for (int i = 0; i < 20; ++i) {
      PlacementState state{world.RandomDevices(tasks, &rng), {}};
      for (int t = 0; t < tasks.num_tasks(); ++t) state.priority.push_back(static_cast<int>(rng() % 10));
      const int64_t exact = world.StepOf(tasks.ToPlacement(input, state.device, state.priority));
      error += std::abs(static_cast<double>(evaluator.Evaluate(state, kNoLimit) - exact)) /
               static_cast<double>(exact);
      ++count;
    }
  }
  EXPECT_LT(error / count, 0.05);
}

// An evaluation ends early only when it would have exceeded the limit.
TEST(PlacementModelTest, LimitsCutNothingThatKeepsThem) {
  const PlacementWorld world(5, 40, 2);
  const StrategyInput input = world.input();
  const TaskGraph tasks(input);
  const PlacementModel model(tasks, {.step_start_ns = 700, .step_finish_ns = 300});
  PlacementEvaluator evaluator(model);
  std::mt19937 rng(1);
  for (int i = 0; i < 20; ++i) {
    const PlacementState state{world.RandomDevices(tasks, &rng), {}};
    const int64_t step = evaluator.Evaluate(state, kNoLimit);
    EXPECT_EQ(evaluator.Evaluate(state, step), step);
    EXPECT_EQ(evaluator.Evaluate(state, step - 1), PlacementEvaluator::kTooLong);
  }
}

// A state of 64 bytes each: a device with room for less than all of it is out of memory.
TEST(PlacementModelTest, MemoryIsALimit) {
  PlacementWorld world(2, 10, 4);
  const DeviceId gpu = world.machine.Gpus().front();
  world.machine.devices[gpu].memory_bytes = 4 * 64 - 1;
  const StrategyInput input = world.input();
  const TaskGraph tasks(input);
  const PlacementModel model(tasks, {});
  PlacementEvaluator evaluator(model);
  const PlacementState on_host{std::vector<DeviceId>(tasks.groups().size(), world.machine.host()), {}};
  const PlacementState on_gpu{std::vector<DeviceId>(tasks.groups().size(), gpu), {}};
  EXPECT_LT(evaluator.Evaluate(on_host, kNoLimit), kNoLimit);
  EXPECT_EQ(evaluator.Evaluate(on_gpu, kNoLimit), PlacementEvaluator::kTooLong);
}

}  // namespace
}  // namespace lanescope::sims
