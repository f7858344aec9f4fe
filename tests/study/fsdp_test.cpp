// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/graph/graph_builder.h"
#include "core/strategies/graph_strategy.h"
#include "core/strategies/variables_in_parts.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"
#include "tests/study/three_layers.h"
#include "tests/support/paths.h"

namespace lanescope::study {
namespace {

using ::testing::HasSubstr;

std::string SampleOf(const std::string& name) {
  return test::SourceDir() + "/samples/graphs/" + name + ".pbtxt";
}

StepGraph Sharded(const Workload& workload, int gpus) {
  const RooflineCost costs;
  const Machine machine = VirtualMachine(gpus, 1);
  return ShardOverBatch({workload.graph(), workload.spec(), workload.info(), machine, costs});
}

TEST(FsdpTest, BlocksAreNumberedScopes) {
  EXPECT_EQ(BlockOf("model/h/3/attn/w"), "model/h/3");
  EXPECT_EQ(BlockOf("h.11.mlp.weight"), "h.11");
  EXPECT_EQ(BlockOf("tower/conv1/weights"), "tower/conv1");
  EXPECT_EQ(BlockOf("w"), "");
}

// Law: every GPU has a part of each variable and updates it alone; a variable is gathered once for each pass
// in which it is read; what does not divide stands once.
TEST(FsdpTest, EveryGpuHasAPartOfEachVariable) {
  const Workload workload = ThreeLayers();
  const StepGraph written = Sharded(workload, 2);
  const Workload again("again", written.graph, written.spec);
  const Graph& graph = written.graph;
  for (const std::string name : {"h/0/w", "h/1/w"}) {
    EXPECT_FALSE(graph.FindNode(name).exists());
    for (const std::string part : {"0", "1"}) {
      const NodeId id = graph.FindNode(name + "/shard_" + part);
      ASSERT_TRUE(id.exists());
      EXPECT_THAT(graph.node(id).device, HasSubstr("GPU:" + part));
      EXPECT_EQ(graph.node(id).GetShapeAttr("shape"), (Shape{8}));
    }
  }
  EXPECT_TRUE(graph.FindNode("odd").exists());
  const NodeId update = graph.FindNode("train/update_1/Apply/shard_1");
  ASSERT_TRUE(update.exists());
  EXPECT_EQ(graph.node(graph.node(update).inputs[2].node).op, "CollectiveReduceScatterV2");
  const auto count = [&](std::string_view op) {
    return std::ranges::count_if(graph.nodes(), [&](const Node& node) { return node.op == op; });
  };
  // h/0/w forward and for the fetch, h/1/w forward and backward; two gradients. Each on two GPUs.
  EXPECT_EQ(count("CollectiveGatherV2"), 2 * 4);
  EXPECT_EQ(count("CollectiveReduceScatterV2"), 2 * 2);
  // The second block is gathered when the first has begun to compute.
  const Node& gather = graph.node(graph.FindNode("fsdp/h/1/w_0/pass_0/gather_1"));
  ASSERT_EQ(gather.control_inputs.size(), 1u);
  EXPECT_EQ(graph.node(gather.control_inputs[0]).name, "replica_1/y0");
}

// Two variables of one block, which two products of a replica read, and no update.
Workload OneBlock() {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 4});
  const Endpoint a = Weight(&builder, "h/0/a", Shape{4, 6}), b = Weight(&builder, "h/0/b", Shape{6, 2});
  const Endpoint y = builder.Op("MatMul", "y").Input(x).Input(a).Build();
  builder.Op("MatMul", "z").Input(y).Input(b).Build();
  RunSpec spec;
  spec.feeds["x"].shape = Shape{6, 4};
  spec.feeds["x"].generator = "uniform";
  spec.batch_axis["x"] = 0;
  spec.fetches = {"z"};
  return Workload("one-block", builder.Take(), spec);
}

// Law: one gathering has all of a block: 12 and 6 columns of each of two devices, in the order of the
// readers.
TEST(FsdpTest, ABlockIsGatheredAtOnce) {
  const StepGraph written = Sharded(OneBlock(), 2);
  const Workload again("again", written.graph, written.spec);
  const Graph& graph = written.graph;
  EXPECT_EQ(std::ranges::count(graph.nodes(), "CollectiveGatherV2", &Node::op), 2);
  const NodeId split = graph.FindNode("fsdp/h/0/a_0/pass_0/split_1");
  ASSERT_TRUE(split.exists());
  EXPECT_EQ(graph.node(split).op, "SplitV");
  const NodeId z = graph.FindNode("replica_1/z");
  ASSERT_TRUE(z.exists());
  const Endpoint whole = graph.node(z).inputs[1];
  EXPECT_EQ(graph.node(whole.node).inputs[0], (Endpoint{split, 1}));
  EXPECT_EQ(again.info().of({again.graph().FindNode(graph.node(whole.node).name), 0}).shape, (Shape{6, 2}));
}

// Law: the gradients of a block are scattered at once, and nothing that is computed changes.
TEST(FsdpTest, GradientsOfABlockAreScatteredAtOnce) {
  const Workload workload = ThreeLayers(false, "h/0/v");
  const StepGraph written = Sharded(workload, 2);
  const Graph& graph = written.graph;
  EXPECT_EQ(std::ranges::count(graph.nodes(), "CollectiveReduceScatterV2", &Node::op), 2);
  const Endpoint first = graph.node(graph.FindNode("train/update_0/Apply/shard_1")).inputs[2],
                 second = graph.node(graph.FindNode("train/update_1/Apply/shard_1")).inputs[2];
  EXPECT_EQ(graph.node(first.node).op, "SplitV");
  EXPECT_EQ(first.node, second.node);
  const Machine machine = VirtualMachine(2, 1);
  EXPECT_NEAR(LossAfter(workload, "fsdp", machine, 5) / LossAfter(workload, "data-parallel", machine, 5), 1,
              1e-5);
}

// Law: a part of what updates alone read is computed of the variable's part; nothing is gathered for it.
TEST(FsdpTest, WeightsDecayInParts) {
  const Workload plain = ThreeLayers(), decaying = ThreeLayers(true);
  const StepGraph written = Sharded(decaying, 2);
  const NodeId part = written.graph.FindNode("decayed/shard_1");
  ASSERT_TRUE(part.exists());
  EXPECT_THAT(written.graph.node(part).device, HasSubstr("GPU:1"));
  const auto gathered = [](const Graph& graph) {
    return std::ranges::count(graph.nodes(), "CollectiveGatherV2", &Node::op);
  };
  EXPECT_EQ(gathered(written.graph), gathered(Sharded(plain, 2).graph));
}

// Law: sharding changes nothing that replicas compute, nor, where the gradient is of a mean over the batch,
// what one model does, up to rounding.
TEST(FsdpTest, PartsTrainLikeOneModel) {
  const Machine machine = VirtualMachine(2, 1);
  const Workload layers = ThreeLayers();
  EXPECT_NEAR(LossAfter(layers, "fsdp", machine, 5) / LossAfter(layers, "data-parallel", machine, 5), 1,
              1e-5);
  for (const auto& [name, steps] :
       {std::pair<const char*, int>{"polynomial", 4}, {"deepconn_single", 2}, {"cifar10_single", 2}}) {
    const Workload workload{SampleOf(name)};
    EXPECT_NEAR(LossAfter(workload, "fsdp", machine, steps) / LossAfter(workload, "single", machine, steps),
                1, 1e-3)
        << name;
  }
}

// Law: what one strategy writes keeps its collectives apart from those that the next one adds: each group and
// instance is that of one constant.
TEST(FsdpTest, CollectivesOfTwoStrategiesHaveKeysOfTheirOwn) {
  const Workload workload{SampleOf("deepconn_single")};
  for (const char* strategy : {"fsdp+tensor-parallel:2", "zero1+tensor-parallel:2"}) {
    const Graph graph = StepBy(strategy, workload, 4).graph;
    std::map<std::pair<int64_t, int64_t>, NodeId> constants;  // by group and instance
    for (const Node& node : graph.nodes()) {
      if (!node.op.starts_with("Collective")) continue;
      const auto number = [&](size_t k) {
        return graph.node(node.inputs[k].node).GetTensorAttr("value").IntAt(0);
      };
      const NodeId constant = node.inputs[3].node;
      EXPECT_EQ(constants.emplace(std::pair(number(2), number(3)), constant).first->second, constant)
          << strategy << ": " << node.name;
    }
    EXPECT_GT(constants.size(), 10u);
  }
}

TEST(FsdpTest, RefusesWhatItCannotShare) {
  const Workload polynomial{SampleOf("polynomial")};
  EXPECT_THAT(RefusalOf([&] { Sharded(polynomial, 1); }), HasSubstr("fewer than two GPUs"));
  EXPECT_THAT(RefusalOf([&] { Sharded(polynomial, 3); }), HasSubstr("nearest batch that can is 99"));
  EXPECT_THAT(RefusalOf([&] { Sharded(Workload{SampleOf("two_towers_matmul")}, 2); }),
              HasSubstr("no batch_axis"));
}

}  // namespace
}  // namespace lanescope::study
