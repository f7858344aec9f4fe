// SPDX-License-Identifier: Apache-2.0
#include "sims/search/lower_bound.h"

#include <gtest/gtest.h>

#include "core/schedule/fusion.h"
#include "tests/sims/placement_world.h"

namespace lanescope::sims {
namespace {

LowerBound BoundOf(const PlacementWorld& world) {
  const StrategyInput input = world.input();
  return FindLowerBound(input, TaskGraph(input), {});
}

int GroupsOf(const PlacementWorld& world) { return TaskGraph(world.input()).num_groups(); }

// Every placement of every group.
int64_t FastestOfAll(const PlacementWorld& world) {
  const StrategyInput input = world.input();
  const TaskGraph tasks(input);
  std::vector<size_t> choice(tasks.groups().size(), 0);
  int64_t fastest = INT64_MAX;
  while (true) {
    std::vector<DeviceId> devices;
    for (size_t g = 0; g < choice.size(); ++g) devices.push_back(tasks.groups()[g].devices[choice[g]]);
    fastest = std::min(fastest, world.StepOf(tasks.ToPlacement(input, devices, {})));
    size_t g = 0;
    while (g < choice.size() && ++choice[g] == tasks.groups()[g].devices.size()) choice[g++] = 0;
    if (g == choice.size()) return fastest;
  }
}

TEST(LowerBoundTest, NoPlacementOfHostAndGpuIsFaster) {
  int graphs = 0;
  for (unsigned seed = 1; seed <= 40 && graphs < 12; ++seed) {
    for (const int variables : {0, 1}) {
      const PlacementWorld world(seed, 3, variables, 1);
      if (GroupsOf(world) > 12) continue;
      ++graphs;
      const LowerBound bound = BoundOf(world);
      const int64_t fastest = FastestOfAll(world);
      EXPECT_LE(bound.step_ns, fastest) << seed << " " << variables;
      EXPECT_GE(bound.step_ns, fastest / 3) << seed << " " << variables << ": " << bound.reason;
    }
  }
  EXPECT_GE(graphs, 12);
}

TEST(LowerBoundTest, NoPlacementOfHostAndTwoGpusIsFaster) {
  int graphs = 0;
  for (unsigned seed = 1; seed <= 40 && graphs < 4; ++seed) {
    const PlacementWorld world(seed, 2, seed % 2 == 0 ? 1 : 0, 2);
    if (GroupsOf(world) > 8) continue;
    ++graphs;
    EXPECT_LE(BoundOf(world).step_ns, FastestOfAll(world)) << seed;
  }
  EXPECT_GE(graphs, 4);
}

// Nodes take 50 us by themselves, and what several share was measured to take next to nothing.
class CheapTogether final : public RooflineCost {
 public:
  CostEstimate Launch(const Machine& machine, DeviceId device, const Node& node,
                      std::span<const TensorInfo> inputs,
                      std::span<const TensorInfo> outputs) const override {
    CostEstimate cost = RooflineCost::Launch(machine, device, node, inputs, outputs);
    cost.ns = node.op.starts_with("fused ")                 ? 10
              : node.FindAttr("_lanescope_cost") != nullptr ? cost.ns
                                                            : 50'000;
    cost.basis = CostBasis::kMeasured;
    return cost;
  }
};

// Every other graph has a node of a known cost, which shares nothing and counts in the bound.
TEST(LowerBoundTest, NoPlacementWithSharedLaunchesIsFaster) {
  int graphs = 0, shared = 0, positive = 0;
  for (unsigned seed = 1; seed <= 60 && graphs < 12; ++seed) {
    PlacementWorld world(seed, 4, static_cast<int>(seed % 2), 1);
    if (GroupsOf(world) > 10) continue;
    ++graphs;
    world.step.fuse = true;
    const CheapTogether costs;
    for (const NodeId id : world.random.graph.node_ids()) {
      Node& node = world.random.graph.node(id);
      if (seed % 2 == 0 || IndexOf(id) % 3 != 0) node.attrs.erase("_lanescope_cost");
    }
    const StrategyInput input{world.random.graph, world.info, world.machine, costs,
                              world.placer,       &world.step};
    const TaskGraph tasks(input);
    const LowerBound bound = FindLowerBound(input, tasks, {});
    positive += bound.step_ns > 0 ? 1 : 0;
    std::mt19937 rng(seed);
    for (int draw = 0; draw < 40; ++draw) {
      const Placement placement = tasks.ToPlacement(input, world.RandomDevices(tasks, &rng), {});
      const Schedule schedule = Compile(world.random.graph, world.info, world.step, placement, world.machine);
      shared += static_cast<int>(schedule.fused.size());
      const CommandEstimates estimates =
          EstimateCommands(world.random.graph, world.info, schedule, world.machine, costs, {});
      EXPECT_LE(bound.step_ns,
                Simulate(schedule, world.machine, estimates.costs, ModelOf(world.gaps)).step_ns)
          << seed << " " << draw;
    }
  }
  EXPECT_GE(graphs, 12);
  EXPECT_GT(shared, 50);
  EXPECT_GE(positive, 4);
}

// `count` ops that read one constant each, all alike, and a sum of them.
PlacementWorld Alike(int count, int gpus, int64_t gpu_ns, int64_t cpu_ns) {
  PlacementWorld world(1, 1, 0, gpus);
  GraphBuilder builder;
  const Tensor value = Tensor::FromValues(Shape{16}, std::vector<float>(16, 1.0f));
  std::vector<Endpoint> ends;
  for (int i = 0; i < count; ++i) {
    const Endpoint x = builder.Op("VariableV2", "x" + std::to_string(i))
                           .Attr("dtype", DataType::kFloat)
                           .Attr("shape", Shape{16})
                           .Build();
    ends.push_back(builder.Op("Neg", "neg" + std::to_string(i)).Input(x).Build());
  }
  world.random.graph = builder.Take();
  world.step = {};
  for (const Endpoint& end : ends) world.step.fetches.push_back({end.node, -1});
  for (const NodeId id : world.random.graph.node_ids()) world.Cost(id, gpu_ns, cpu_ns);
  world.info = InferGraph(world.random.graph, {});
  return world;
}

// 4 ops of 100 us on two GPUs; the host takes 400 us for one: 2 * 1.78 of them on the GPUs and 0.44 on the
// host take 178 us.
TEST(LowerBoundTest, WorkIsSharedOutOverAllDevices) {
  const PlacementWorld world = Alike(4, 2, 100'000, 400'000);
  const LowerBound bound = BoundOf(world);
  EXPECT_EQ(bound.reason, "work");
  EXPECT_NEAR(static_cast<double>(bound.step_ns), 4.0 / (2.0 / 100'000 + 1.0 / 400'000), 4000);
  EXPECT_LE(bound.step_ns, FastestOfAll(world));
}

TEST(LowerBoundTest, OneOpIsItsOwnPath) {
  const PlacementWorld world = Alike(1, 2, 100'000, 400'000);
  const LowerBound bound = BoundOf(world);
  EXPECT_EQ(bound.step_ns, 100'000);
  EXPECT_EQ(bound.step_ns, FastestOfAll(world));
}

// Feeds are on the host, fetches must come back, and a GPU alone is fast enough to be worth two
// copies of 20 us each.
TEST(LowerBoundTest, CopiesThatNoChoiceAvoidsCount) {
  PlacementWorld world = Alike(1, 1, 1'000, 1'000'000);
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{16});
  const Endpoint y = builder.Op("Neg", "y").Input(x).Build();
  world.random.graph = builder.Take();
  TensorInfo fed;
  fed.dtype = DataType::kFloat;
  fed.shape = Shape{16};
  world.step.feeds = {{x, fed}};
  world.step.fetches = {y};
  world.info = InferGraph(world.random.graph, world.step.feeds);
  world.Cost(y.node, 1'000, 1'000'000);
  EXPECT_EQ(BoundOf(world).step_ns, 41'000);
  EXPECT_EQ(FastestOfAll(world), 41'000);
}

// Ten ops that only the host is fast at and ten that only the GPU is fast at, each reading one of the other:
// ten copies through one engine take longer than the work.
TEST(LowerBoundTest, WhatCrossesPassesTheEngines) {
  PlacementWorld world = Alike(1, 1, 1'000, 1'000);
  GraphBuilder builder;
  std::vector<Endpoint> ends;
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i);
    const Endpoint x =
        builder.Op("VariableV2", "x" + n).Attr("dtype", DataType::kFloat).Attr("shape", Shape{16}).Build();
    ends.push_back(builder.Op("Neg", "g" + n).Input(builder.Op("Neg", "h" + n).Input(x).Build()).Build());
  }
  world.random.graph = builder.Take();
  world.step = {};
  for (const Endpoint& end : ends) {
    world.step.fetches.push_back({end.node, -1});
    const NodeId host_op = world.random.graph.node(end.node).inputs[0].node;
    world.Cost(end.node, 1'000, 10'000'000);
    world.Cost(host_op, 10'000'000, 1'000);
  }
  world.info = InferGraph(world.random.graph, {});
  const LowerBound bound = BoundOf(world);
  EXPECT_EQ(bound.reason, "links");
  EXPECT_GE(bound.step_ns, 195'000) << "ten copies of 20 us";
  EXPECT_LE(bound.step_ns, 200'000 + 2'000);
}

TEST(LowerBoundTest, StateBeyondAllMemoryFitsNowhere) {
  PlacementWorld world = Alike(4, 1, 1'000, 1'000);
  for (DeviceSpec& device : world.machine.devices) device.memory_bytes = 4 * 64 / 2;
  EXPECT_TRUE(BoundOf(world).fits);
  for (DeviceSpec& device : world.machine.devices) device.memory_bytes = 4 * 64 / 2 - 1;
  EXPECT_FALSE(BoundOf(world).fits);
}

}  // namespace
}  // namespace lanescope::sims
