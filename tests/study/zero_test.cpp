// SPDX-License-Identifier: Apache-2.0
// Stages 1 and 2 of ZeRO, and parts of variables within groups of replicas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/strategies/graph_strategy.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"
#include "tests/study/three_layers.h"

namespace lanescope::study {
namespace {

using ::testing::HasSubstr;

// y = x w0 w1 with loss = mean(y^2), gradients by hand and momentum, over any batch; 8 rows are fed. Resource
// variables h/0/w and h/1/w of 16 numbers, each with as many of momentum, as an export has them. The loss
// that is fetched is the mean square of `seen`: of y0, too, whose columns GPUs share that share matrices.
Workload TwoBlocks(const std::string& seen = "y1") {
  GraphBuilder graph;
  RunSpec spec;
  spec.feeds["x"].shape = Shape{8, 4};
  spec.feeds["x"].generator = "uniform";
  spec.batch_axis["x"] = 0;
  const Endpoint x = graph.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 4});
  const auto variable = [&](const std::string& name, float first) {
    const Endpoint handle = graph.Op("VarHandleOp", name)
                                .Attr("dtype", DataType::kFloat)
                                .Attr("shape", Shape{4, 4})
                                .Attr("shared_name", name)
                                .Build();
    std::vector<float> values(16, first);
    for (size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(i % 5);
    const Endpoint value = graph.Const("first/" + name, Tensor::FromValues(Shape{4, 4}, values));
    graph.Op("AssignVariableOp", name + "/Assign").Input(handle).Input(value).Build();
    spec.init.push_back(name + "/Assign");
    return handle;
  };
  const auto product = [&](const std::string& name, Endpoint a, Endpoint b, bool turn_a, bool turn_b) {
    NodeBuilder made = graph.Op("MatMul", name);
    return made.Input(a).Input(b).Attr("transpose_a", turn_a).Attr("transpose_b", turn_b).Build();
  };
  std::vector<Endpoint> handles, reads;
  for (const std::string block : {"h/0/w", "h/1/w"}) {
    handles.push_back(variable(block, 0.1f));
    NodeBuilder read = graph.Op("ReadVariableOp", block + "/Read");
    reads.push_back(read.Input(handles.back()).Attr("dtype", DataType::kFloat).Build());
  }
  const Endpoint y0 = product("y0", x, reads[0], false, false),
                 y1 = product("y1", y0, reads[1], false, false);
  const Endpoint axes = graph.Const("axes", Tensor::FromValues(Shape{2}, std::vector<int32_t>{0, 1}));
  const Endpoint square = graph.Op("Square", "square").Input(seen == "y0" ? y0 : y1).Build();
  graph.Op("Mean", "loss").Input(square).Input(axes).Build();
  const Endpoint size = graph.Op("Size", "size").Input(y1).Build();
  const Endpoint count = graph.Op("Cast", "count").Input(size).Attr("DstT", DataType::kFloat).Build();
  const Endpoint share = graph.Op("RealDiv", "share").Input(graph.Scalar("two", 2.0f)).Input(count).Build();
  const Endpoint dy = graph.Op("Mul", "dy").Input(y1).Input(share).Build();
  const Endpoint d0 = product("d0", dy, reads[1], false, true);
  const std::vector<Endpoint> gradients = {product("g0", x, d0, true, false),
                                           product("g1", y0, dy, true, false)};
  for (size_t i = 0; i < 2; ++i) {
    const std::string name = graph.graph().node(handles[i].node).name;
    graph.Op("ResourceApplyMomentum", name + "/Apply")
        .Input(handles[i])
        .Input(variable(name + "/momentum", 0))
        .Input(graph.Scalar(name + "/rate", 0.05f))
        .Input(gradients[i])
        .Input(graph.Scalar(name + "/kept", 0.9f))
        .Build();
    spec.targets.push_back(name + "/Apply");
  }
  spec.fetches = {"loss"};
  spec.loss = "loss";
  return {"two-blocks", graph.Take(), spec};
}

// Numbers in variables by device, of those whose names have this part.
std::map<std::string, int64_t> NumbersOf(const Graph& graph, const std::string& part) {
  std::map<std::string, int64_t> numbers;
  for (const Node& node : graph.nodes()) {
    if (node.op == "VarHandleOp" && node.name.find(part) != std::string::npos)
      numbers[node.device] += node.GetShapeAttr("shape").NumElements();
  }
  return numbers;
}

// Law: of 32 numbers of momentum each of N GPUs has 32 / N; of 32 parameters it has all, to read, and the
// 32 / N that it updates.
TEST(ZeroTest, OptimizersStateIsInParts) {
  for (const std::string strategy : {"zero1", "zero2"}) {
    for (const int gpus : {2, 4}) {
      const StepGraph written = StepBy(strategy, TwoBlocks(), gpus);
      const auto state = NumbersOf(written.graph, "/momentum"), copies = NumbersOf(written.graph, "w/copy_"),
                 parts = NumbersOf(written.graph, "w/shard_");
      for (const auto* all : {&state, &copies, &parts}) ASSERT_EQ(all->size(), static_cast<size_t>(gpus));
      for (const auto& [device, numbers] : state) {
        EXPECT_EQ(numbers, 32 / gpus) << device;
        EXPECT_EQ(copies.at(device), 32) << device;
        EXPECT_EQ(parts.at(device), 32 / gpus) << device;
      }
    }
  }
}

// Law: parameters are gathered once a step, after the update, by block; the step and its initialization end
// with that.
TEST(ZeroTest, ParametersAreGatheredAfterTheUpdate) {
  const StepGraph written = StepBy("zero2", TwoBlocks(), 2);
  const Graph& graph = written.graph;
  // Two blocks on two GPUs, after the update and after initialization.
  EXPECT_EQ(CountOf("CollectiveGatherV2", graph), 2 * 2 * 2);
  EXPECT_EQ(CountOf("CollectiveReduceScatterV2", graph), 2 * 2);
  EXPECT_EQ(written.spec.targets.size(), 2 * 2 + 2 * 2u) << "updates of parts and copies";
  const NodeId assign = graph.FindNode("zero2/h/1/w/renewed/assign_0_1");
  ASSERT_TRUE(assign.exists());
  EXPECT_EQ(graph.node(graph.node(assign).inputs[0].node).name, "h/1/w/copy_1");
  const NodeId updated = graph.FindNode("zero2/h/1/w/renewed/updated_0_1");
  ASSERT_TRUE(updated.exists());
  ASSERT_EQ(graph.node(updated).control_inputs.size(), 1u);
  EXPECT_EQ(graph.node(graph.node(updated).control_inputs[0]).name, "h/1/w/Apply/shard_1");
  const NodeId product = graph.FindNode("replica_1/y1");
  EXPECT_EQ(graph.node(graph.node(product).inputs[1].node).name, "h/1/w/Read/copy_1");
}

// Law: with zero2 a gradient is scattered when its block's are there; with zero1 when all of its GPU's are.
TEST(ZeroTest, GradientsStayWholeUntilTheBackwardPassIsOver) {
  const auto waits = [](const std::string& strategy) {
    const StepGraph written = StepBy(strategy, TwoBlocks(), 2);
    const Graph& graph = written.graph;
    std::vector<std::string> names;
    for (const Node& node : graph.nodes()) {
      if (node.op != "CollectiveReduceScatterV2" || !node.name.ends_with("_1")) continue;
      for (const NodeId control : node.control_inputs) {
        for (const NodeId before : graph.node(control).control_inputs)
          names.push_back(graph.node(before).name);
      }
    }
    return names;
  };
  EXPECT_THAT(waits("zero2"), ::testing::IsEmpty());
  EXPECT_THAT(waits("zero1"), ::testing::UnorderedElementsAre("replica_1/g0", "replica_1/g1", "replica_1/g0",
                                                              "replica_1/g1"));
}

// Law: what is in parts changes nothing that is computed, up to rounding.
TEST(ZeroTest, PartsTrainLikeOneModel) {
  const Workload workload = TwoBlocks();
  const double one = LossAfter(workload, "single", VirtualMachine(1, 1), 5);
  for (const std::string strategy : {"zero1", "zero2", "fsdp"}) {
    for (const int gpus : {2, 4})
      EXPECT_NEAR(LossAfter(workload, strategy, VirtualMachine(gpus, 1), 5) / one, 1, 1e-6)
          << strategy << " on " << gpus;
  }
  for (const std::string strategy :
       {"zero1+tensor-parallel:2", "zero2+tensor-parallel:2", "data-parallel+fsdp:2"})
    EXPECT_NEAR(LossAfter(workload, strategy, VirtualMachine(4, 1), 5) / one, 1, 1e-6) << strategy;
  EXPECT_NEAR(LossAfter(workload, "data-parallel+fsdp:2+tensor-parallel:2", VirtualMachine(8, 1), 5) / one, 1,
              1e-6);
}

// Law: where the loss is made of terms on two GPUs, the collective that adds them up has both as members,
// though one alone is fetched.
TEST(ZeroTest, TermsOfALossAreAddedByAllThatHaveThem) {
  const Workload workload = TwoBlocks("y0");
  const double one = LossAfter(workload, "single", VirtualMachine(1, 1), 3);
  for (const std::string strategy :
       {"zero1+tensor-parallel:2", "zero2+tensor-parallel:2", "fsdp+tensor-parallel:2"}) {
    const StepGraph written = StepBy(strategy, workload, 4);
    std::map<std::string, int> members;
    for (const Node& node : written.graph.nodes()) {
      if (node.op == "NcclAllReduce") ++members[node.StringAttr("shared_name", "")];
    }
    EXPECT_TRUE(std::ranges::any_of(members, [](const auto& each) {
      return each.first.find("loss") != each.first.npos;
    })) << strategy;
    for (const auto& [instance, count] : members) EXPECT_EQ(count, 2) << strategy << " " << instance;
    EXPECT_NEAR(LossAfter(workload, strategy, VirtualMachine(4, 1), 3) / one, 1, 1e-6) << strategy;
  }
}

// Law: reference variables and weights that decay by themselves likewise.
TEST(ZeroTest, ReferenceVariablesHaveCopies) {
  const Workload layers = ThreeLayers(true);
  const Machine machine = VirtualMachine(2, 1);
  const double replicas = LossAfter(layers, "data-parallel", machine, 5);
  EXPECT_NEAR(LossAfter(layers, "zero1", machine, 5) / replicas, 1, 1e-5);
  EXPECT_NEAR(LossAfter(layers, "zero2", machine, 5) / replicas, 1, 1e-5);
}

// Law: of two groups of two GPUs each has all parts of a variable; gradients are scattered within a group and
// the parts averaged over those at one place.
TEST(ZeroTest, GroupsHaveAllPartsEach) {
  const StepGraph written = StepBy("data-parallel+fsdp:2", TwoBlocks(), 4);
  const Graph& graph = written.graph;
  for (const auto& [device, numbers] : NumbersOf(graph, "/momentum")) EXPECT_EQ(numbers, 16) << device;
  const auto group_of = [&](const Node& collective) {
    return graph.node(collective.inputs[3].node).name;  // its instance
  };
  std::map<std::string, std::vector<std::string>> scatters, means;
  for (const Node& node : graph.nodes()) {
    if (node.op == "CollectiveReduceScatterV2") scatters[group_of(node)].push_back(node.device);
    if (node.op == "CollectiveReduceV2") means[group_of(node)].push_back(node.device);
  }
  ASSERT_EQ(scatters.size(), 4u) << "two blocks in two groups";
  ASSERT_EQ(means.size(), 4u) << "two blocks at two places";
  const auto gpus = [](const std::vector<std::string>& devices) {
    std::string digits;
    for (const std::string& device : devices) digits += device.back();
    return digits;
  };
  for (const auto& [key, devices] : scatters) EXPECT_THAT(gpus(devices), ::testing::AnyOf("01", "23")) << key;
  for (const auto& [key, devices] : means) EXPECT_THAT(gpus(devices), ::testing::AnyOf("02", "13")) << key;
}

// Law: an update that is known by its cost alone has a part of it on each GPU, and bfloat16 is in parts, too.
TEST(ZeroTest, FusedUpdatesAreShared) {
  GraphBuilder graph;
  RunSpec spec;
  spec.feeds["x"].shape = Shape{8, 4};
  spec.batch_axis["x"] = 0;
  const Endpoint x = graph.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 4});
  const Endpoint small = graph.Op("Cast", "small").Input(x).Attr("DstT", DataType::kBfloat16).Build();
  const auto variable = [&](const std::string& name) {
    NodeBuilder made = graph.Op("VarHandleOp", name);
    return made.Attr("dtype", DataType::kBfloat16).Attr("shape", Shape{4, 4}).Build();
  };
  const Endpoint w = variable("h/0/w"), slot = variable("h/0/w/momentum");
  const Endpoint read =
      graph.Op("ReadVariableOp", "read").Input(w).Attr("dtype", DataType::kBfloat16).Build();
  const Endpoint y = graph.Op("MatMul", "y").Input(small).Input(read).Build();
  const Endpoint gradient = graph.Op("MatMul", "g").Input(small).Input(y).Attr("transpose_a", true).Build();
  const Endpoint fused = graph.Op("FusedUpdate", "h/0/w/Update/FusedUpdate")
                             .Input(gradient)
                             .Input(w)
                             .Input(slot)
                             .Attr("_lanescope_cost", R"({"flops": 64, "bytes": 160})")
                             .Attr("_output_shapes", std::vector<ShapeAttr>{{Shape{4, 4}, ""}})
                             .Attr("_output_types", std::vector<DataType>{DataType::kBfloat16})
                             .Build();
  graph.Op("AssignVariableOp", "h/0/w/Update/Assign")
      .Input(w)
      .Input(fused)
      .Attr("dtype", DataType::kBfloat16)
      .Build();
  spec.targets = {"h/0/w/Update/Assign"};
  const Workload workload("fused", graph.Take(), spec);
  for (const std::string strategy : {"zero1", "zero2", "fsdp"}) {
    const StepGraph written = StepBy(strategy, workload, 2);
    const NodeId part = written.graph.FindNode("h/0/w/Update/FusedUpdate/shard_1");
    ASSERT_TRUE(part.exists()) << strategy;
    EXPECT_THAT(written.graph.node(part).device, HasSubstr("GPU:1"));
    EXPECT_EQ(written.graph.node(part).StringAttr("_lanescope_cost"), R"({"flops": 32, "bytes": 80})");
    for (const auto& [device, numbers] : NumbersOf(written.graph, "/momentum"))
      EXPECT_EQ(numbers, 8) << device;
    const Workload again("again", written.graph, written.spec);
    EXPECT_EQ(again.info().of({again.graph().FindNode("h/0/w/Update/FusedUpdate/shard_1"), 0}).shape,
              (Shape{8}));
  }
}

TEST(ZeroTest, RefusesWhatItCannotShare) {
  const Workload workload = TwoBlocks();
  EXPECT_THAT(RefusalOf([&] { StepBy("zero1", workload, 1); }),
              HasSubstr("zero1: the machine has fewer than two"));
  EXPECT_THAT(RefusalOf([&] { StepBy("zero2", workload, 3); }), HasSubstr("batch of 8"));
  EXPECT_THAT(RefusalOf([&] { StepBy("data-parallel+fsdp:3", workload, 4); }),
              HasSubstr("the nearest size that divides them is 2"));
  EXPECT_THAT(RefusalOf([&] { StepBy("data-parallel+fsdp:02", workload, 4); }), HasSubstr("is no strategy"));
  EXPECT_THAT(RefusalOf([&] { StepBy("data-parallel+zero1:2", workload, 4); }), HasSubstr("is no strategy"));
}

}  // namespace
}  // namespace lanescope::study
