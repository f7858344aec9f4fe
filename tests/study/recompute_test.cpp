// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/strategies/graph_strategy.h"
#include "study/predict/predictor.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"

namespace lanescope::study {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Blocks of x' = dropout(tanh(x w)) v under "PREFIX0/", "PREFIX1/" and so on, the mean of the last one's
// squares, and its gradients by hand.
class Blocks {
 public:
  Blocks(int blocks, const std::string& prefix, int rows = 16, float kept_share = 0.9f)
      : prefix_(prefix), kept_share_(kept_share) {
    spec_.feeds["x"].shape = Shape{rows, kWidth};
    spec_.feeds["x"].generator = "uniform";
    spec_.batch_axis["x"] = 0;
    Endpoint x = graph_.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, kWidth});
    std::vector<Endpoint> inputs;
    for (int i = 0; i < blocks; ++i) {
      inputs.push_back(x);
      x = Forward(i, x);
    }
    const Endpoint square = graph_.Op("Square", "square").Input(x).Build();
    const Endpoint axes = graph_.Const("axes", Tensor::FromValues(Shape{2}, std::vector<int32_t>{0, 1}));
    graph_.Op("Mean", "loss").Input(square).Input(axes).Build();
    const Endpoint size = graph_.Op("Size", "gradients/size").Input(x).Build();
    const Endpoint count =
        graph_.Op("Cast", "gradients/count").Input(size).Attr("DstT", DataType::kFloat).Build();
    const Endpoint share =
        graph_.Op("RealDiv", "gradients/share").Input(graph_.Scalar("two", 2.0f)).Input(count).Build();
    Endpoint gradient = graph_.Op("Mul", "gradients/square").Input(x).Input(share).Build();
    for (int i = blocks - 1; i >= 0; --i) gradient = Backward(i, inputs[static_cast<size_t>(i)], gradient);
    spec_.fetches = {"loss"};
    spec_.loss = "loss";
  }
  Workload Take() { return {"blocks", graph_.Take(), spec_}; }
  RunSpec& spec() { return spec_; }

 private:
  static constexpr int kWidth = 8;

  std::string Of(int block, const char* name) const { return prefix_ + std::to_string(block) + "/" + name; }
  Endpoint Variable(const std::string& name) {
    std::vector<float> values(kWidth * kWidth);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.3f * std::sin(static_cast<float>(7 * i + 1));
    const Shape shape{kWidth, kWidth};
    const Endpoint made =
        graph_.Op("VariableV2", name).Attr("dtype", DataType::kFloat).Attr("shape", shape).Build();
    const Endpoint value = graph_.Const("first/" + name, Tensor::FromValues(shape, values));
    graph_.Op("Assign", name + "/Assign").Input(made).Input(value).Build();
    spec_.init.push_back(name + "/Assign");
    return made;
  }
  Endpoint Product(const std::string& name, Endpoint a, Endpoint b, bool turn_a, bool turn_b) {
    NodeBuilder made = graph_.Op("MatMul", name);
    made.Input(a).Input(b).Attr("transpose_a", turn_a).Attr("transpose_b", turn_b);
    return made.Build();
  }

  struct Kept {
    Endpoint w, v, t, mask, d;
  };

  Endpoint Forward(int i, Endpoint x) {
    Kept kept;
    kept.w = Variable(Of(i, "w"));
    kept.v = Variable(Of(i, "v"));
    kept.t = graph_.Op("Tanh", Of(i, "t")).Input(Product(Of(i, "xw"), x, kept.w, false, false)).Build();
    const Endpoint shape = graph_.Op("Shape", Of(i, "shape")).Input(kept.t).Build();
    NodeBuilder random = graph_.Op("RandomUniform", Of(i, "random"));
    random.Input(shape).Attr("dtype", DataType::kFloat).Attr("seed", int64_t{1}).Attr("seed2", int64_t{i});
    const Endpoint less = graph_.Op("Less", Of(i, "less"))
                              .Input(random.Build())
                              .Input(graph_.Scalar(Of(i, "p"), kept_share_))
                              .Build();
    kept.mask = graph_.Op("Cast", Of(i, "mask")).Input(less).Attr("DstT", DataType::kFloat).Build();
    kept.d = graph_.Op("Mul", Of(i, "d")).Input(kept.t).Input(kept.mask).Build();
    kept_.push_back(kept);
    return Product(Of(i, "out"), kept.d, kept.v, false, false);
  }
  Endpoint Backward(int i, Endpoint x, Endpoint gradient) {
    const Kept& kept = kept_[static_cast<size_t>(i)];
    const auto of = [&](const char* name) { return "gradients/" + Of(i, name); };
    Update(Of(i, "v"), kept.v, Product(of("v"), kept.d, gradient, true, false));
    const Endpoint d = Product(of("d"), gradient, kept.v, false, true);
    const Endpoint t = graph_.Op("Mul", of("t")).Input(d).Input(kept.mask).Build();
    const Endpoint xw = graph_.Op("TanhGrad", of("xw")).Input(kept.t).Input(t).Build();
    Update(Of(i, "w"), kept.w, Product(of("w"), x, xw, true, false));
    return Product(of("x"), xw, kept.w, false, true);
  }
  void Update(const std::string& name, Endpoint variable, Endpoint gradient) {
    const Endpoint rate = graph_.Scalar("train/" + name + "/rate", 0.1f);
    graph_.Op("ApplyGradientDescent", "train/" + name + "/Apply")
        .Input(variable)
        .Input(rate)
        .Input(gradient)
        .Build();
    spec_.targets.push_back("train/" + name + "/Apply");
  }

  const std::string prefix_;
  const float kept_share_;
  GraphBuilder graph_;
  RunSpec spec_;
  std::vector<Kept> kept_;
};

Machine OneCudaLikeGpu() {
  Machine machine = VirtualMachine(1, 1);
  for (DeviceSpec& device : machine.devices) {
    if (!device.is_gpu()) continue;
    device.kind = DeviceKind::kModelled;
    device.in_order = true;
  }
  return machine;
}

StepGraph Written(const Workload& workload) {
  const RooflineCost costs;
  const Machine machine = OneCudaLikeGpu();
  return RecomputeBlocks({workload.graph(), workload.spec(), workload.info(), machine, costs});
}

// Law: what is computed again is what it was, with the same random numbers: losses are the same bits.
TEST(RecomputeTest, TrainsToTheSameBits) {
  const Workload workload = Blocks(3, "h/").Take();
  const Machine machine = VirtualMachine(1, 1);
  for (const int steps : {1, 4}) {
    EXPECT_EQ(LossAfter(workload, "recompute", machine, steps), LossAfter(workload, "single", machine, steps))
        << steps;
  }
}

// Law: gradients of a block read what was computed again; that begins when the gradient from the block behind
// is there. Kept are what leaves the block, and the mask of dropout, not the random numbers themselves.
TEST(RecomputeTest, BlocksAreComputedAgainWhenTheirGradientsBegin) {
  const StepGraph step = Written(Blocks(3, "h/").Take());
  const Graph& graph = step.graph;
  const auto inputs = [&](const std::string& name) {
    std::vector<std::string> names;
    const Node& node = graph.node(graph.FindNode(name));
    for (const Endpoint& input : node.inputs) names.push_back(graph.node(input.node).name);
    for (const NodeId control : node.control_inputs) names.push_back("^" + graph.node(control).name);
    return names;
  };
  EXPECT_THAT(inputs("gradients/h/1/v"), Contains("recompute/h/1/d"));
  EXPECT_THAT(inputs("gradients/h/1/xw"), Contains("recompute/h/1/t"));
  EXPECT_THAT(inputs("gradients/h/1/t"), Contains("recompute/h/1/mask"));
  EXPECT_THAT(inputs("gradients/h/1/w"), Contains("h/0/out"));
  EXPECT_THAT(inputs("h/1/out"), Contains("h/1/d"));
  EXPECT_THAT(inputs("recompute/h/1/xw"), Contains("^recompute/h/1/begin"));
  EXPECT_THAT(inputs("recompute/h/1/begin"), Contains("^gradients/h/2/x"));
  EXPECT_THAT(inputs("recompute/h/1/begin"), Contains("^gradients/h/2/v"));
  EXPECT_THAT(inputs("recompute/h/1/mask"), Contains("h/1/less"));
  for (const char* name : {"recompute/h/1/out", "recompute/h/1/random", "recompute/h/1/less"})
    EXPECT_FALSE(graph.FindNode(name).exists()) << name;
}

// Law: of n blocks the activations of one are there at a time; the forward pass takes its time once more.
TEST(RecomputeTest, LessMemoryForOneMoreForwardPass) {
  const Workload workload = Blocks(12, "h/", 4096).Take();
  const Machine machine = OneCudaLikeGpu();
  const Predictor predictor(machine);
  const auto play = [&](const std::string& strategy) {
    const PlacedGraph placed = Place(workload, strategy, machine, predictor.costs());
    const Schedule schedule = CompileStep(placed, machine);
    VerifySchedule(placed.workload->graph(), schedule);
    return std::pair(*std::ranges::max_element(schedule.peak_bytes),
                     static_cast<double>(predictor.Predict(*placed.workload, schedule, {0}).step_ns));
  };
  const auto [whole_bytes, whole_ns] = play("single");
  const auto [bytes, ns] = play("recompute");
  EXPECT_LT(static_cast<double>(bytes), 0.5 * static_cast<double>(whole_bytes));
  EXPECT_GT(ns, whole_ns);
  EXPECT_LT(ns, 1.4 * whole_ns);
}

// Law: selectively, what multiplies matrices is kept, and what moves bytes is computed again.
TEST(RecomputeTest, SelectivelyProductsAreKept) {
  const Workload workload = Blocks(12, "h/", 4096).Take();
  const RooflineCost costs;
  const Machine machine = OneCudaLikeGpu();
  const RewriteInput input{workload.graph(), workload.spec(), workload.info(), machine, costs};
  const StepGraph step = RecomputeSelectively(input);
  const Node& again = step.graph.node(step.graph.FindNode("recompute/h/1/t"));
  EXPECT_EQ(step.graph.node(again.inputs[0].node).name, "h/1/xw");
  EXPECT_EQ(CountOf("MatMul", step.graph), CountOf("MatMul", workload.graph()));
  EXPECT_GT(CountOf("MatMul", RecomputeBlocks(input).graph), CountOf("MatMul", workload.graph()));
  const auto peak = [&](const std::string& strategy) {
    const Schedule schedule = CompileStep(Place(workload, strategy, machine, costs), machine);
    return *std::ranges::max_element(schedule.peak_bytes);
  };
  EXPECT_LT(peak("recompute-selective"), peak("single"));
  EXPECT_GT(peak("recompute-selective"), peak("recompute"));
  EXPECT_EQ(LossAfter(workload, "recompute-selective", VirtualMachine(1, 1), 3),
            LossAfter(workload, "single", VirtualMachine(1, 1), 3));
}

// Law: a product computes the same as its factors, up to rounding; dropout's numbers differ by replica, so
// there is none of it here.
TEST(RecomputeTest, StandsBeforeEveryStrategy) {
  const Workload certain = Blocks(4, "h/", 16, 1.0f).Take();
  const double one = LossAfter(certain, "single", VirtualMachine(1, 1), 3);
  for (const auto& [strategy, gpus] : {std::pair<const char*, int>{"recompute+data-parallel", 2},
                                       {"recompute+fsdp", 2},
                                       {"recompute-selective+fsdp", 2},
                                       {"recompute-selective+pipeline", 2},
                                       {"recompute+pipeline", 2},
                                       {"recompute+pipeline-interleaved", 2},
                                       {"recompute+pipeline-zero-bubble", 4},
                                       {"recompute+tensor-parallel", 2},
                                       {"recompute+data-parallel+pipeline:2+tensor-parallel:2", 8}}) {
    EXPECT_NEAR(LossAfter(certain, strategy, VirtualMachine(gpus, 1), 3) / one, 1, 1e-5) << strategy;
  }
}

TEST(RecomputeTest, RefusesWhatHasNothingToComputeAgain) {
  const auto refusal = [](Workload workload) { return RefusalOf([&] { Written(workload); }); };
  EXPECT_THAT(refusal(Blocks(2, "block_").Take()), HasSubstr("numbered scope such as 'h/3/'"));
  Blocks no_loss(2, "h/");
  no_loss.spec().loss.clear();
  EXPECT_THAT(refusal(no_loss.Take()), HasSubstr("names no loss"));
  const StepGraph again = Written(Blocks(2, "h/").Take());
  EXPECT_THAT(refusal({"again", again.graph, again.spec}), HasSubstr("computes its blocks again"));
  GraphBuilder inference;
  inference.Op("Relu", "h/0/y").Input(inference.Placeholder("x", DataType::kFloat, Shape{4})).Build();
  RunSpec spec;
  spec.feeds["x"].shape = Shape{4};
  spec.fetches = {"h/0/y"};
  spec.loss = "h/0/y";
  EXPECT_THAT(refusal({"inference", inference.Take(), spec}), HasSubstr("updates no variable"));
}

}  // namespace
}  // namespace lanescope::study
