// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/strategies/graph_strategy.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"
#include "tests/support/paths.h"

namespace lanescope::study {
namespace {

using ::testing::HasSubstr;

// y = relu(x v) w with loss = mean(y^2) and its gradients by hand, over any batch; 24 rows are fed.
Workload TwoProducts() {
  GraphBuilder graph;
  RunSpec spec;
  FeedSpec& feed = spec.feeds["x"];
  feed.dtype = DataType::kFloat;
  feed.shape = Shape{24, 4};
  feed.generator = "uniform";
  spec.batch_axis["x"] = 0;
  const Endpoint x = graph.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 4});
  const auto weight = [&](const std::string& name, const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.NumElements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(7 * i + 1));
    NodeBuilder variable = graph.Op("VariableV2", name);
    const Endpoint made = variable.Attr("dtype", DataType::kFloat).Attr("shape", shape).Build();
    const Endpoint value = graph.Const("first/" + name, Tensor::FromValues(shape, values));
    graph.Op("Assign", name + "/Assign").Input(made).Input(value).Build();
    spec.init.push_back(name + "/Assign");
    return made;
  };
  const auto product = [&](const std::string& name, Endpoint a, Endpoint b, bool turn_a, bool turn_b) {
    NodeBuilder made = graph.Op("MatMul", name);
    made.Input(a).Input(b).Attr("transpose_a", turn_a).Attr("transpose_b", turn_b);
    return made.Build();
  };
  const auto step = [&](const std::string& name, Endpoint variable, Endpoint gradient) {
    const Endpoint rate = graph.Scalar(name + "/rate", 0.05f);
    const std::string update = "train/" + name + "/Apply";
    graph.Op("ApplyGradientDescent", update).Input(variable).Input(rate).Input(gradient).Build();
    spec.targets.push_back(update);
  };
  const Endpoint v = weight("v", Shape{4, 8}), w = weight("w", Shape{8, 4});
  const Endpoint h = graph.Op("Relu", "h").Input(product("xv", x, v, false, false)).Build();
  const Endpoint y = product("y", h, w, false, false);
  const Endpoint square = graph.Op("Square", "square").Input(y).Build();
  const Endpoint axes = graph.Const("axes", Tensor::FromValues(Shape{2}, std::vector<int32_t>{0, 1}));
  graph.Op("Mean", "loss").Input(square).Input(axes).Build();
  const Endpoint size = graph.Op("Size", "size").Input(y).Build();
  const Endpoint count = graph.Op("Cast", "count").Input(size).Attr("DstT", DataType::kFloat).Build();
  const Endpoint share = graph.Op("RealDiv", "share").Input(graph.Scalar("two", 2.0f)).Input(count).Build();
  const Endpoint dy = graph.Op("Mul", "dy").Input(y).Input(share).Build();
  const Endpoint dh = product("dh", dy, w, false, true);
  const Endpoint dz = graph.Op("ReluGrad", "dz").Input(dh).Input(h).Build();
  step("w", w, product("dw", h, dy, true, false));
  step("v", v, product("dv", x, dz, true, false));
  spec.fetches = {"loss"};
  spec.loss = "loss";
  return {"model", graph.Take(), spec};
}

// Law: a product of strategies changes what is computed by rounding alone, as does each of its factors.
TEST(WrittenProductTest, ProductsTrainLikeOneDevice) {
  const Workload workload = TwoProducts();
  const double one = LossAfter(workload, "single", VirtualMachine(1, 1), 5);
  const auto loss = [&](const std::string& strategy, int gpus) {
    return LossAfter(workload, strategy, VirtualMachine(gpus, 1), 5) / one;
  };
  EXPECT_NEAR(loss("data-parallel", 4), 1, 1e-5);
  EXPECT_NEAR(loss("data-parallel+tensor-parallel:2", 4), 1, 1e-5);
  EXPECT_NEAR(loss("data-parallel+tensor-parallel:2", 6), 1, 1e-5);
  EXPECT_NEAR(loss("fsdp+tensor-parallel:2", 4), 1, 1e-5);
  EXPECT_NEAR(loss("pipeline+tensor-parallel:2", 4), 1, 1e-5);
  EXPECT_NEAR(loss("data-parallel+pipeline:2", 6), 1, 1e-5);
  EXPECT_NEAR(loss("data-parallel+pipeline-gpipe:2+tensor-parallel:2", 8), 1, 1e-5);
  EXPECT_NEAR(loss("pipeline-interleaved-3+tensor-parallel:2", 4), 1, 1e-5);
  EXPECT_NEAR(loss("data-parallel+pipeline-zero-bubble:2+tensor-parallel:2", 8), 1, 1e-5);
}

// Law: replica g is of the g-th group, and the r-th GPU of that computes the r-th part of it; variables are
// of the first group, in parts.
TEST(WrittenProductTest, ReplicasAreOfGroups) {
  const Workload workload = TwoProducts();
  const RooflineCost costs;
  const Machine machine = VirtualMachine(4, 1);
  const StepGraph written =
      RewriteByStrategy("data-parallel+tensor-parallel:2",
                        {workload.graph(), workload.spec(), workload.info(), machine, costs});
  const auto node = [&](const std::string& name) { return written.graph.node(written.graph.FindNode(name)); };
  EXPECT_THAT(node("rank_0/replica_0/xv").device, HasSubstr("GPU:0"));
  EXPECT_THAT(node("rank_1/replica_0/xv").device, HasSubstr("GPU:1"));
  EXPECT_THAT(node("rank_0/replica_1/xv").device, HasSubstr("GPU:2"));
  EXPECT_THAT(node("rank_1/replica_1/xv").device, HasSubstr("GPU:3"));
  EXPECT_THAT(node("rank_1/v").device, HasSubstr("GPU:1"));
  EXPECT_EQ(node("rank_1/v").GetShapeAttr("shape"), (Shape{4, 4}));
}

// Law: of the part of a variable that a GPU has, each of the GPUs at its place in the groups has a share, and
// nobody has more; they gather it among themselves.
TEST(WrittenProductTest, PartsAreShardedOverGroups) {
  const Workload workload = TwoProducts();
  const RooflineCost costs;
  const Machine machine = VirtualMachine(4, 1);
  const StepGraph written = RewriteByStrategy(
      "fsdp+tensor-parallel:2", {workload.graph(), workload.spec(), workload.info(), machine, costs});
  for (const auto& [name, gpu] : {std::pair{"rank_0/v/shard_0", "GPU:0"},
                                  {"rank_1/v/shard_0", "GPU:1"},
                                  {"rank_0/v/shard_1", "GPU:2"},
                                  {"rank_1/v/shard_1", "GPU:3"}}) {
    const Node& part = written.graph.node(written.graph.FindNode(name));
    EXPECT_THAT(part.device, HasSubstr(gpu)) << name;
    EXPECT_EQ(part.GetShapeAttr("shape"), (Shape{8})) << name;
  }
  const auto is_whole = [](const Node& node) {
    return node.op == "VariableV2" && node.name.find("/shard_") == std::string::npos;
  };
  EXPECT_TRUE(std::ranges::none_of(written.graph.nodes(), is_whole));
}

// Law: every pipeline of a product has stages of its own.
TEST(WrittenProductTest, PipelinesAreOfGroups) {
  const Workload workload = TwoProducts();
  const RooflineCost costs;
  const Machine machine = VirtualMachine(4, 1);
  const StepGraph written = RewriteByStrategy(
      "data-parallel+pipeline:2", {workload.graph(), workload.spec(), workload.info(), machine, costs});
  const auto device = [&](const std::string& name) {
    return written.graph.node(written.graph.FindNode(name)).device;
  };
  EXPECT_THAT(device("pipeline/pipeline_0/stage_1/forward_0"), HasSubstr("GPU:1"));
  EXPECT_THAT(device("pipeline/pipeline_1/stage_0/forward_0"), HasSubstr("GPU:2"));
  EXPECT_THAT(device("pipeline/pipeline_1/stage_1/backward_0"), HasSubstr("GPU:3"));
}

// Law: groups that do not divide the GPUs are refused with the nearest that do; any other text with what
// there is.
TEST(WrittenProductTest, ProductsThatAreNone) {
  const Workload workload = TwoProducts();
  const auto refusal = [&](const std::string& strategy) {
    return RefusalOf([&] { Place(workload, strategy, VirtualMachine(4, 1), RooflineCost()); });
  };
  EXPECT_THAT(refusal("data-parallel+tensor-parallel:3"),
              HasSubstr("the nearest size that divides them is 2"));
  EXPECT_THAT(refusal("data-parallel+pipeline:4"),
              HasSubstr("pipeline:4 wants several groups of 4 GPUs, and 4 are left to it"));
  for (const char* text : {"tensor-parallel:2", "data-parallel+tensor-parallel", "fsdp+pipeline:2",
                           "data-parallel+tensor-parallel:0", "data-parallel+tensor-parallel:2x",
                           "data-parallel+tensor-parallel:02", "data-parallel+", "pipeline+data-parallel:2",
                           "data-parallel+other:2", "pipeline+recompute:2"})
    EXPECT_THAT(refusal(text), HasSubstr("give a name, or a product")) << text;
}

}  // namespace
}  // namespace lanescope::study
