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

StepGraph Split(const Workload& workload, int gpus) {
  const RooflineCost costs;
  const Machine machine = VirtualMachine(gpus, 1);
  return SplitOverMatrices({workload.graph(), workload.spec(), workload.info(), machine, costs});
}

// Grows a graph with its step: variables with first values that all differ, and steps downhill.
class Model {
 public:
  Endpoint Input(const std::string& name, const Shape& shape, DataType type = DataType::kFloat) {
    FeedSpec& feed = spec_.feeds[name];
    feed.dtype = type;
    feed.shape = shape;
    feed.generator = type == DataType::kFloat ? "uniform" : "integers";
    feed.high = type == DataType::kFloat ? 1 : 7;
    return graph_.Placeholder(name, type, shape);
  }
  Endpoint Weight(const std::string& name, const Shape& shape, const std::string& device = "") {
    NodeBuilder variable = graph_.Op("VariableV2", name);
    const Endpoint weight =
        variable.Attr("dtype", DataType::kFloat).Attr("shape", shape).Device(device).Build();
    std::vector<float> values(static_cast<size_t>(shape.NumElements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(7 * i + shape.rank()));
    const Endpoint value = graph_.Const("first/" + name, Tensor::FromValues(shape, values));
    graph_.Op("Assign", name + "/Assign").Input(weight).Input(value).Build();
    spec_.init.push_back(name + "/Assign");
    return weight;
  }
  NodeBuilder Op(std::string_view op, const std::string& name) { return graph_.Op(op, name); }
  Endpoint Product(const std::string& name, Endpoint a, Endpoint b, bool turn_a = false,
                   bool turn_b = false) {
    return Op("MatMul", name)
        .Input(a)
        .Input(b)
        .Attr("transpose_a", turn_a)
        .Attr("transpose_b", turn_b)
        .Build();
  }
  Endpoint Numbers(const std::string& name, const std::vector<int32_t>& values) {
    return graph_.Const(name, Tensor::FromValues(Shape{static_cast<Dim>(values.size())}, values));
  }
  Endpoint Number(const std::string& name, int32_t value) { return graph_.Scalar(name, value); }
  Endpoint Scalar(const std::string& name, float value) { return graph_.Scalar(name, value); }
  // The mean of the squares of a matrix.
  Endpoint Loss(Endpoint matrix) {
    const Endpoint square = Op("Square", "square").Input(matrix).Build();
    return Op("Mean", "loss").Input(square).Input(Numbers("axes", {0, 1})).Build();
  }
  void Step(const std::string& name, Endpoint weight, Endpoint gradient) {
    const Endpoint rate = Scalar(name + "/rate", 0.05f);
    const std::string update = "train/" + name + "/Apply";
    Op("ApplyGradientDescent", update).Input(weight).Input(rate).Input(gradient).Build();
    spec_.targets.push_back(update);
  }
  void Target(const std::string& name) { spec_.targets.push_back(name); }
  Workload Take(const std::string& loss = "loss") {
    spec_.fetches = {loss};
    spec_.loss = loss;
    return {"model", graph_.Take(), spec_};
  }

 private:
  GraphBuilder graph_;
  RunSpec spec_;
};

// Two layers with their gradients by hand: y = relu(x v + b) w, loss = mean(y^2).
Workload TwoLayers(int columns) {
  Model model;
  const Endpoint x = model.Input("x", Shape{6, 4});
  const Endpoint v = model.Weight("v", Shape{4, columns}), b = model.Weight("b", Shape{columns}),
                 w = model.Weight("w", Shape{columns, 4});
  const Endpoint z = model.Op("BiasAdd", "z").Input(model.Product("xv", x, v)).Input(b).Build();
  const Endpoint h = model.Op("Relu", "h").Input(z).Build();
  const Endpoint y = model.Product("y", h, w);
  model.Loss(y);
  const Endpoint dy = model.Op("Mul", "dy").Input(y).Input(model.Scalar("share", 2.0f / 24)).Build();
  const Endpoint dh = model.Product("dh", dy, w, false, true);
  const Endpoint dz = model.Op("ReluGrad", "dz").Input(dh).Input(h).Build();
  model.Step("w", w, model.Product("dw", h, dy, true));
  model.Step("v", v, model.Product("dv", x, dz, true));
  model.Step("b", b, model.Op("BiasAddGrad", "db").Input(dz).Build());
  return model.Take();
}

// Law: the first matrix is cut by columns and the next by rows; between them nothing is exchanged, behind
// them one sum is made, and gradients lie where their variables do.
TEST(TensorParallelTest, ColumnsThenRows) {
  const Workload workload = TwoLayers(8);
  const StepGraph written = Split(workload, 2);
  const Graph& graph = written.graph;
  EXPECT_EQ(PartOnRank1("v", graph), (Shape{4, 4}));
  EXPECT_EQ(PartOnRank1("b", graph), (Shape{4}));
  EXPECT_EQ(PartOnRank1("w", graph), (Shape{4, 4}));
  EXPECT_EQ(CountOf("NcclAllReduce", graph), 2);
  EXPECT_EQ(CountOf("CollectiveGatherV2", graph), 0);
  EXPECT_EQ(CountOf("CollectiveReduceScatterV2", graph), 0);
  EXPECT_THAT(graph.node(graph.FindNode("rank_1/train/v/Apply")).device, HasSubstr("GPU:1"));
}

// Law: sharing matrices changes what is computed by rounding alone.
TEST(TensorParallelTest, TrainsLikeOneDevice) {
  const Workload workload = TwoLayers(8);
  const double one = LossAfter(workload, "single", VirtualMachine(1, 1), 5);
  for (const int gpus : {2, 4}) {
    EXPECT_NEAR(LossAfter(workload, "tensor-parallel", VirtualMachine(gpus, 1), 5) / one, 1, 1e-5) << gpus;
  }
}

// Law: weights of which a loss takes the squares, and which decay, are cut as without that, whatever comes
// first in the graph; the squares of parts are terms of the loss.
TEST(TensorParallelTest, LossOfWeightsLeavesThemInParts) {
  Model model;
  const Endpoint v = model.Weight("v", Shape{4, 8});
  const Endpoint squares = model.Op("L2Loss", "a_squares").Input(v).Build();
  const Endpoint decayed = model.Op("Mul", "a_decayed").Input(v).Input(model.Scalar("decay", 0.1f)).Build();
  const Endpoint x = model.Input("x", Shape{6, 4});
  const Endpoint y = model.Product("y", x, v);
  model.Op("AddV2", "total").Input(model.Loss(y)).Input(squares).Build();
  const Endpoint dy = model.Op("Mul", "dy").Input(y).Input(model.Scalar("share", 2.0f / 48)).Build();
  model.Step("v", v, model.Op("AddV2", "dv").Input(model.Product("xdy", x, dy, true)).Input(decayed).Build());
  const Workload workload = model.Take("total");
  EXPECT_EQ(PartOnRank1("v", Split(workload, 2).graph), (Shape{4, 4}));
  EXPECT_NEAR(LossAfter(workload, "tensor-parallel", VirtualMachine(2, 1), 5) /
                  LossAfter(workload, "single", VirtualMachine(1, 1), 5),
              1, 1e-5);
}

// Law: matrices that the graph keeps on the host are no matter of GPUs, and the error says why.
TEST(TensorParallelTest, MatricesOnTheHostAreNamed) {
  Model model;
  model.Loss(model.Product("y", model.Input("x", Shape{6, 4}), model.Weight("v", Shape{4, 8}, "/cpu:0")));
  const Workload workload = model.Take();
  const std::string refusal = RefusalOf([&] { Split(workload, 2); });
  EXPECT_THAT(refusal, HasSubstr("keeps 'v' on the host"));
  EXPECT_THAT(refusal, HasSubstr("'/cpu:0'"));
}

// Law: bfloat16 crosses as it is, in half the bytes of float.
TEST(TensorParallelTest, CollectivesTakeBfloat16) {
  Model model;
  const auto cast = [&](const std::string& name, Endpoint of, DataType to) {
    return model.Op("Cast", name).Input(of).Attr("DstT", to).Build();
  };
  const Endpoint x = cast("x16", model.Input("x", Shape{6, 4}), DataType::kBfloat16);
  const Endpoint v = cast("v16", model.Weight("v", Shape{4, 8}), DataType::kBfloat16),
                 w = cast("w16", model.Weight("w", Shape{8, 4}), DataType::kBfloat16);
  model.Loss(cast("y32", model.Product("y", model.Product("h", x, v), w), DataType::kFloat));
  const Workload workload = model.Take();
  const StepGraph written = Split(workload, 2);
  const auto sum = std::ranges::find(written.graph.nodes(), "NcclAllReduce", &Node::op);
  ASSERT_NE(sum, written.graph.nodes().end());
  EXPECT_EQ(sum->TypeAttr("T"), DataType::kBfloat16);
  EXPECT_NEAR(LossAfter(workload, "tensor-parallel", VirtualMachine(2, 1), 1) /
                  LossAfter(workload, "single", VirtualMachine(1, 1), 1),
              1, 1e-2);
}

// Words of which the input and the output have one table, and a loss over all of them.
Workload TiedWords() {
  Model model;
  const Endpoint words = model.Input("words", Shape{6}, DataType::kInt32);
  const Endpoint table = model.Weight("table", Shape{8, 4});
  const Endpoint x =
      model.Op("GatherV2", "x").Input(table).Input(words).Input(model.Number("rows", 0)).Build();
  const Endpoint logits = model.Product("logits", x, table, false, true);
  const Endpoint logs = model.Op("LogSoftmax", "logs").Input(logits).Build();
  const Endpoint hot = model.Op("OneHot", "hot")
                           .Input(words)
                           .Input(model.Number("depth", 8))
                           .Input(model.Scalar("on", 1))
                           .Input(model.Scalar("off", 0))
                           .Build();
  const Endpoint chosen = model.Op("Mul", "chosen").Input(logs).Input(hot).Build();
  model.Op("Sum", "loss").Input(chosen).Input(model.Numbers("axes", {0, 1})).Build();
  return model.Take();
}

// Law: of the words each GPU has its own, of the logits those of its words, and neither is ever whole.
TEST(TensorParallelTest, WordsAndLogitsStayInParts) {
  const Workload workload = TiedWords();
  const StepGraph written = Split(workload, 2);
  EXPECT_EQ(PartOnRank1("table", written.graph), (Shape{4, 4}));
  EXPECT_EQ(CountOf("CollectiveGatherV2", written.graph), 0);
  // The rows that were looked up, the greatest logit, the sum of exponentials, and the loss.
  EXPECT_EQ(CountOf("NcclAllReduce", written.graph), 2 * 4);
  const Workload again("again", written.graph, written.spec);
  EXPECT_EQ(again.info().of({again.graph().FindNode("rank_1/hot"), 0}).shape, (Shape{6, 4}));
  EXPECT_NEAR(LossAfter(workload, "tensor-parallel", VirtualMachine(4, 1), 1) /
                  LossAfter(workload, "single", VirtualMachine(1, 1), 1),
              1, 1e-5);
}

// Queries, keys and values of one product, in heads of which each has two values.
Workload Heads(int heads, const std::string& scope = "") {
  Model model;
  const int width = 2 * heads;
  const Endpoint x = model.Input("x", Shape{6, 4});
  const Endpoint qkv = model.Weight("qkv", Shape{4, 3 * width}), out = model.Weight("out", Shape{width, 4});
  const Endpoint all = model.Product("all", x, qkv);
  const Endpoint split = model.Op("SplitV", "split")
                             .Input(all)
                             .Input(model.Numbers("sizes", {width, width, width}))
                             .Input(model.Number("columns", 1))
                             .Attr("num_split", int64_t{3})
                             .Build();
  const auto in_heads = [&](int which) {
    return model.Op("Reshape", scope + "heads_" + std::to_string(which))
        .Input({split.node, which})
        .Input(model.Numbers("shape_" + std::to_string(which), {6, heads, 2}))
        .Build();
  };
  const Endpoint sum = model.Op("AddV2", "sum").Input(in_heads(0)).Input(in_heads(1)).Build();
  const Endpoint weighted = model.Op("Mul", "weighted").Input(sum).Input(in_heads(2)).Build();
  const Endpoint flat =
      model.Op("Reshape", "flat").Input(weighted).Input(model.Numbers("flat_shape", {6, width})).Build();
  model.Loss(model.Product("y", flat, out));
  return model.Take();
}

// Law: of each of the three pieces a GPU has the same heads.
TEST(TensorParallelTest, PiecesOfAProductHaveTheSameHeads) {
  const Workload workload = Heads(4);
  const StepGraph written = Split(workload, 2);
  EXPECT_EQ(PartOnRank1("qkv", written.graph), (Shape{4, 12}));
  EXPECT_EQ(PartOnRank1("out", written.graph), (Shape{4, 4}));
  EXPECT_EQ(CountOf("CollectiveGatherV2", written.graph), 0);
  for (const int gpus : {2, 4}) {
    EXPECT_NEAR(LossAfter(workload, "tensor-parallel", VirtualMachine(gpus, 1), 1) /
                    LossAfter(workload, "single", VirtualMachine(1, 1), 1),
                1, 1e-5)
        << gpus;
  }
}

// Queries in 4 heads of 3 values and keys in 2 of 6, whose products no GPU of three could have alone, behind
// a matrix whose columns three GPUs share.
Workload GroupedAttention() {
  Model model;
  const Endpoint x = model.Input("x", Shape{6, 4});
  const Endpoint hidden = model.Product("hidden", x, model.Weight("in", Shape{4, 6}));
  const auto heads = [&](const std::string& name, int count, int size) {
    const Endpoint columns = model.Product(name, hidden, model.Weight(name + "/w", Shape{6, 12}));
    return model.Op("Reshape", "attention/" + name)
        .Input(columns)
        .Input(model.Numbers(name + "/shape", {6, count, size}))
        .Build();
  };
  const Endpoint queries = model.Op("Reshape", "queries_by_keys")
                               .Input(heads("queries", 4, 3))
                               .Input(model.Numbers("by_keys", {6, 2, 6}))
                               .Build();
  const Endpoint scores = model.Op("BatchMatMulV2", "scores")
                              .Input(queries)
                              .Input(heads("keys", 2, 6))
                              .Attr("adj_y", true)
                              .Build();
  const Endpoint square = model.Op("Square", "square").Input(scores).Build();
  model.Op("Mean", "loss").Input(square).Input(model.Numbers("all_axes", {0, 1, 2})).Build();
  return model.Take();
}

// A product, an op of each element that is known by its cost alone, a product, and an update of that kind.
Workload KnownByCost() {
  Model model;
  const auto known = [&](const char* op, const std::string& name, const Shape& shape) {
    NodeBuilder node = model.Op(op, name);
    node.Attr("_lanescope_cost", R"({"flops": 96, "bytes": 480})");
    node.Attr("_output_types", std::vector<DataType>{DataType::kFloat});
    return node.Attr("_output_shapes", std::vector<ShapeAttr>{{shape, ""}});
  };
  const Endpoint x = model.Input("x", Shape{6, 4});
  const Endpoint handle = model.Op("VarHandleOp", "v")
                              .Attr("dtype", DataType::kFloat)
                              .Attr("shape", Shape{4, 8})
                              .Attr("shared_name", "v")
                              .Build();
  const Endpoint v =
      model.Op("ReadVariableOp", "v/Read").Input(handle).Attr("dtype", DataType::kFloat).Build();
  const Endpoint w = model.Weight("w", Shape{8, 4});
  const Endpoint h = known("AtenSilu", "h", Shape{6, 8}).Input(model.Product("xv", x, v)).Build();
  model.Loss(model.Product("y", h, w));
  const Endpoint gradient = model.Product("dv", x, h, true);
  const Endpoint update = known("FusedUpdate", "update", Shape{4, 8}).Input(gradient).Input(handle).Build();
  model.Op("AssignVariableOp", "assign").Input(handle).Input(update).Build();
  model.Target("assign");
  return model.Take();
}

// Law: a device has its share of a cost that is known for the whole, and nothing is gathered for it.
TEST(TensorParallelTest, CostsAreShared) {
  const StepGraph written = Split(KnownByCost(), 2);
  const Graph& graph = written.graph;
  for (const std::string name : {"rank_1/h", "rank_1/update"})
    EXPECT_EQ(graph.node(graph.FindNode(name)).StringAttr("_lanescope_cost"),
              R"({"flops": 48, "bytes": 240})");
  const Workload again("again", written.graph, written.spec);
  EXPECT_EQ(again.info().of({again.graph().FindNode("rank_1/update"), 0}).shape, (Shape{4, 4}));
  EXPECT_EQ(CountOf("CollectiveGatherV2", graph), 0);
}

// Law: what is no transformer is right all the same; ops without a rule take and give whole tensors.
TEST(TensorParallelTest, OtherModelsTrainLikeOneDevice) {
  const Workload workload{test::SourceDir() + "/samples/graphs/deepconn_single.pbtxt"};
  EXPECT_NEAR(LossAfter(workload, "tensor-parallel", VirtualMachine(2, 1), 2) /
                  LossAfter(workload, "single", VirtualMachine(1, 1), 2),
              1, 1e-3);
}

TEST(TensorParallelTest, RefusesWhatItCannotShare) {
  EXPECT_THAT(RefusalOf([] { Split(TwoLayers(8), 1); }), HasSubstr("fewer than two GPUs"));
  EXPECT_THAT(RefusalOf([] { Split(TwoLayers(8), 3); }), HasSubstr("number that divides"));
  EXPECT_THAT(
      RefusalOf([] { Split(Heads(6), 4); }),
      HasSubstr("the 6 heads of 'heads_0' cannot be shared out evenly over 4 GPUs; the nearest number "
                "that divides them is 3"));
  EXPECT_THAT(RefusalOf([] { Split(Heads(6, "gradients/h/0/attention/"), 4); }),
              HasSubstr("the 6 heads of 'h/0/attention' cannot"));
  EXPECT_THAT(RefusalOf([] { Split(GroupedAttention(), 3); }),
              HasSubstr("the 4 heads of 'attention' and its 2 of keys and values cannot be shared out evenly "
                        "over 3 GPUs; the nearest number that divides both is 2"));
  EXPECT_NO_THROW(Split(GroupedAttention(), 2));
}

}  // namespace
}  // namespace lanescope::study
