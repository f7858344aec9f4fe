// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/machine/cluster_tasks.h"
#include "sims/search/placement_evaluator.h"
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

Delays Gaps() {
  Delays gaps{.step_start_ns = 5'000, .step_finish_ns = 3'000};
  gaps.handoff_ns = {{{2'000, 4'000}, {1'000, 3'000}}};
  for (auto& kind : gaps.gap_ns) kind = {700, 300};
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

// Three processes on one computer, each with GPUs: copies between tasks go through their hosts, any number at
// once, and leave by the network port. (Between computers they share interfaces, which the model plays one
// after the other.)
TEST(PlacementModelTest, EqualsTheSimulatorOfTasks) {
  for (const bool priorities : {false, true}) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
      ExpectEqual(
          PlacementWorld(seed, 40, 0, MachineOfTasks(VirtualMachine(2, 1), ParseClusterTasks("worker=a:3"))),
          priorities, seed);
    }
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

// From a random state by random moves of groups, scopes of groups and priorities: what goes on from moments
// of earlier runs equals what begins at the beginning, also where it is given up in between.
void ExpectSameFromTheBeginning(const PlacementWorld& world, unsigned seed, int64_t* spared) {
  const StrategyInput input = world.input();
  const TaskGraph tasks(input);
  const PlacementModel model(tasks, world.gaps);
  PlacementEvaluator evaluator(model);
  std::mt19937 rng(seed);
  PlacementState state{world.RandomDevices(tasks, &rng), {}};
  int64_t current = kNoLimit;
  for (int i = 0; i < 300; ++i) {
    PlacementState next = state;
    const unsigned kind = rng() % 10;
    const size_t moves = kind == 0 ? 8 : kind == 1 ? 0 : 1 + rng() % 2;
    for (size_t m = 0; m < moves; ++m) {
      const size_t group = rng() % next.device.size();
      const std::vector<DeviceId>& devices = tasks.groups()[group].devices;
      next.device[group] = devices[rng() % devices.size()];
    }
    if (kind == 1) {
      next.priority.resize(static_cast<size_t>(tasks.num_tasks()), 0);
      next.priority[rng() % next.priority.size()] = static_cast<int>(rng() % 5);
    }
    const int64_t limit = i % 7 == 0 || current == kNoLimit ? kNoLimit : current + current / 20;
    const double share = i < 250 ? 1 : 0.9;
    const int64_t step = evaluator.Evaluate(next, limit, share);
    ASSERT_EQ(step, PlacementEvaluator(model).Evaluate(next, limit, share)) << seed << " " << i;
    if (step == PlacementEvaluator::kTooLong) continue;
    state = next;
    current = step;
  }
  *spared += evaluator.spared();
}

// Links of finite width, so that copies wait for each other.
PlacementWorld NarrowWorld(unsigned seed, int variables, int gpus = 2) {
  PlacementWorld world(seed, 60, variables, gpus);
  for (LinkSpec& link : world.machine.links) link.bandwidth = 4e6;
  return world;
}

TEST(PlacementModelTest, GoingOnEqualsBeginning) {
  int64_t spared = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    ExpectSameFromTheBeginning(NarrowWorld(seed, 0), seed, &spared);
    ExpectSameFromTheBeginning(NarrowWorld(seed, 4, 3), seed, &spared);
  }
  EXPECT_GT(spared, 0);
}

TEST(PlacementModelTest, GoingOnEqualsBeginningWithGaps) {
  int64_t spared = 0;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    PlacementWorld world = NarrowWorld(seed, 2);
    world.gaps = Gaps();
    for (auto& kind : world.gaps.wake_ns) kind = {6'000, 2'000};
    ExpectSameFromTheBeginning(world, seed, &spared);
  }
  EXPECT_GT(spared, 0);
}

TEST(PlacementModelTest, GoingOnEqualsBeginningOnStreams) {
  int64_t spared = 0;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    PlacementWorld world = NarrowWorld(seed, 2);
    for (DeviceSpec& device : world.machine.devices) device.in_order = true;
    ExpectSameFromTheBeginning(world, seed, &spared);
    world.gaps = Gaps();
    ExpectSameFromTheBeginning(world, seed + 10, &spared);
  }
  EXPECT_GT(spared, 0);
}

// A task that waits for others and has no tensor to read or make.
TEST(PlacementModelTest, GoingOnEqualsBeginningWhereTasksOnlyWait) {
  int64_t spared = 0;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    PlacementWorld world = NarrowWorld(seed, 3);
    Node all;
    all.name = "all";
    all.op = "NoOp";
    for (const std::string& update : world.random.targets)
      all.control_inputs.push_back(world.random.graph.FindNode(update));
    ASSERT_FALSE(all.control_inputs.empty());
    const NodeId added = world.random.graph.AddNode(std::move(all));
    world.Cost(added, 5'000, 15'000);
    world.step.fetches.push_back({added, -1});
    world.info = InferGraph(world.random.graph, {});
    for (const DeviceId gpu : world.machine.Gpus()) world.machine.devices[gpu].in_order = true;
    ExpectSameFromTheBeginning(world, seed, &spared);
  }
  EXPECT_GT(spared, 0);
}

TEST(PlacementModelTest, GoingOnEqualsBeginningWithWorkers) {
  int64_t spared = 0;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    PlacementWorld world = NarrowWorld(seed, 2);
    for (DeviceSpec& device : world.machine.devices) {
      if (device.is_gpu()) device.kind = DeviceKind::kVirtual;
      device.workers = 3;
    }
    ExpectSameFromTheBeginning(world, seed, &spared);
  }
  EXPECT_GT(spared, 0);
}

TEST(PlacementModelTest, GoingOnEqualsBeginningOfTasks) {
  int64_t spared = 0;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    PlacementWorld world(seed, 60, 2, MachineOfTasks(VirtualMachine(2, 1), ParseClusterTasks("worker=a,b")));
    for (LinkSpec& link : world.machine.links) link.bandwidth = 4e6;
    for (const DeviceId gpu : world.machine.Gpus()) world.machine.devices[gpu].memory_bytes = 64 * 30;
    ExpectSameFromTheBeginning(world, seed, &spared);
  }
  EXPECT_GT(spared, 0);
}

// Tensors have 64 bytes: room for some of them, but not for all at once.
TEST(PlacementModelTest, GoingOnEqualsBeginningWithLittleMemory) {
  int64_t spared = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    PlacementWorld world = NarrowWorld(seed, 4);
    for (const DeviceId gpu : world.machine.Gpus())
      world.machine.devices[gpu].memory_bytes = 64 * (12 + 6 * seed);
    ExpectSameFromTheBeginning(world, seed, &spared);
  }
  EXPECT_GT(spared, 0);
}

}  // namespace
}  // namespace lanescope::sims
