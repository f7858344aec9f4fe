// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/strategies/graph_strategy.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"

namespace lanescope::study {
namespace {

using ::testing::HasSubstr;

// A mixture of matrices [4, 4] in one variable, as exports have them: y = sum over experts e of (x mask_e)
// w_e, where mask_e has the rows that are greatest at number e. loss = mean(y^2), gradients by hand,
// momentum.
class Mixture {
 public:
  explicit Mixture(int experts) : experts_(experts) {}

  Workload Build() {
    spec_.feeds["x"].shape = Shape{24, 4};
    spec_.feeds["x"].generator = "uniform";
    spec_.batch_axis["x"] = 0;
    const Endpoint x = graph_.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 4});
    const Endpoint stack = Variable("experts/w", 0.3f), slot = Variable("experts/w/momentum", 0);
    const Endpoint read =
        graph_.Op("ReadVariableOp", "experts/w/Read").Input(stack).Attr("dtype", DataType::kFloat).Build();
    const Endpoint last = graph_.Scalar("last", int32_t{1});
    const Endpoint best = graph_.Op("ArgMax", "best").Input(x).Input(last).Build();
    std::vector<Endpoint> rows, terms, gradients;
    for (int e = 0; e < experts_; ++e) {
      const std::string name = "expert_" + std::to_string(e);
      rows.push_back(Masked(name, x, best, e));
      terms.push_back(Product(name + "/y", rows.back(), Taken(name, read, e), false));
    }
    const Endpoint y = graph_.Op("AddN", "y").Inputs(terms).Build();
    const Endpoint axes = graph_.Const("axes", Tensor::FromValues(Shape{2}, std::vector<int32_t>{0, 1}));
    graph_.Op("Mean", "loss").Input(graph_.Op("Square", "square").Input(y).Build()).Input(axes).Build();
    const Endpoint size = graph_.Op("Size", "size").Input(y).Build();
    const Endpoint count = graph_.Op("Cast", "count").Input(size).Attr("DstT", DataType::kFloat).Build();
    const Endpoint share =
        graph_.Op("RealDiv", "share").Input(graph_.Scalar("two", 2.0f)).Input(count).Build();
    const Endpoint dy = graph_.Op("Mul", "dy").Input(y).Input(share).Build();
    for (int e = 0; e < experts_; ++e)
      gradients.push_back(Product("gradient_" + std::to_string(e), rows[static_cast<size_t>(e)], dy, true));
    const Endpoint gradient = graph_.Op("Pack", "gradient").Inputs(gradients).Attr("axis", 0).Build();
    graph_.Op("ResourceApplyMomentum", "experts/w/Apply")
        .Input(stack)
        .Input(slot)
        .Input(graph_.Scalar("rate", 0.05f))
        .Input(gradient)
        .Input(graph_.Scalar("kept", 0.9f))
        .Build();
    spec_.targets = {"experts/w/Apply"};
    spec_.fetches = {"loss"};
    spec_.loss = "loss";
    return {"mixture", graph_.Take(), spec_};
  }

 private:
  Endpoint Variable(const std::string& name, float scale) {
    const Shape shape{experts_, 4, 4};
    const Endpoint handle = graph_.Op("VarHandleOp", name)
                                .Attr("dtype", DataType::kFloat)
                                .Attr("shape", shape)
                                .Attr("shared_name", name)
                                .Build();
    std::vector<float> values(static_cast<size_t>(shape.NumElements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = scale * std::sin(static_cast<float>(7 * i + 1));
    const Endpoint value = graph_.Const("first/" + name, Tensor::FromValues(shape, values));
    graph_.Op("AssignVariableOp", name + "/Assign").Input(handle).Input(value).Build();
    spec_.init.push_back(name + "/Assign");
    return handle;
  }
  Endpoint Masked(const std::string& name, Endpoint x, Endpoint best, int expert) {
    const Endpoint number = graph_.Scalar(name + "/number", int64_t{expert});
    const Endpoint is = graph_.Op("Equal", name + "/is").Input(best).Input(number).Build();
    const Endpoint one = graph_.Op("Cast", name + "/one").Input(is).Attr("DstT", DataType::kFloat).Build();
    const Endpoint shape =
        graph_.Const(name + "/column", Tensor::FromValues(Shape{2}, std::vector<int32_t>{-1, 1}));
    const Endpoint mask = graph_.Op("Reshape", name + "/mask").Input(one).Input(shape).Build();
    return graph_.Op("Mul", name + "/rows").Input(x).Input(mask).Build();
  }
  Endpoint Taken(const std::string& name, Endpoint read, int expert) {
    const auto number = [&](const std::string& what, int32_t value) {
      return graph_.Const(name + what, Tensor::FromValues(Shape{1}, std::vector<int32_t>{value}));
    };
    return graph_.Op("StridedSlice", name + "/w")
        .Input(read)
        .Input(number("/begin", expert))
        .Input(number("/end", expert + 1))
        .Input(number("/step", 1))
        .Attr("shrink_axis_mask", 1)
        .Build();
  }
  Endpoint Product(const std::string& name, Endpoint a, Endpoint b, bool turn) {
    return graph_.Op("MatMul", name).Input(a).Input(b).Attr("transpose_a", turn).Build();
  }

  const int experts_;
  GraphBuilder graph_;
  RunSpec spec_;
};

// Law: experts 2 p and 2 p + 1 of four lie on GPU p of two, with their state, their products for both
// replicas and their gradients; a replica adds up one sum from each GPU.
TEST(ExpertParallelTest, EveryGpuHasAPartOfTheExperts) {
  const StepGraph written = StepBy("expert-parallel", Mixture(4).Build(), 2);
  const Graph& graph = written.graph;
  const auto device = [&](const std::string& name) {
    const NodeId id = graph.FindNode(name);
    return id.exists() ? graph.node(id).device : name + " is missing";
  };
  for (const std::string part : {"0", "1"}) {
    for (const std::string name : {"experts/w/part_", "experts/w/momentum/part_", "experts/w/Apply/part_"})
      EXPECT_THAT(device(name + part), HasSubstr("GPU:" + part));
    EXPECT_EQ(graph.node(graph.FindNode("experts/w/part_" + part)).GetShapeAttr("shape"), (Shape{2, 4, 4}));
  }
  for (const std::string replica : {"replica_0/", "replica_1/"}) {
    EXPECT_THAT(device(replica + "expert_1/y"), HasSubstr("GPU:0"));
    EXPECT_THAT(device(replica + "expert_2/y"), HasSubstr("GPU:1"));
    EXPECT_THAT(device(replica + "gradient_3"), HasSubstr("GPU:1"));
    EXPECT_THAT(device(replica + "y/part_1"), HasSubstr("GPU:1"));
    EXPECT_EQ(graph.node(graph.FindNode(replica + "y")).inputs.size(), 2u);
  }
  EXPECT_THAT(device("replica_1/y"), HasSubstr("GPU:1"));
  EXPECT_FALSE(graph.FindNode("experts/w").exists());
}

// Law: where experts lie changes nothing that is computed, up to rounding; groups have copies of the
// products.
TEST(ExpertParallelTest, TrainsLikeOneDevice) {
  const Workload workload = Mixture(4).Build();
  const double one = LossAfter(workload, "single", VirtualMachine(1, 1), 5);
  for (const int gpus : {2, 4})
    EXPECT_NEAR(LossAfter(workload, "expert-parallel", VirtualMachine(gpus, 1), 5) / one, 1, 1e-6) << gpus;
  EXPECT_NEAR(LossAfter(workload, "data-parallel+expert-parallel:2", VirtualMachine(4, 1), 5) / one, 1, 1e-6);
  EXPECT_NEAR(LossAfter(Mixture(6).Build(), "expert-parallel", VirtualMachine(3, 1), 3) /
                  LossAfter(Mixture(6).Build(), "single", VirtualMachine(1, 1), 3),
              1, 1e-6);
}

TEST(ExpertParallelTest, RefusesWhatItCannotShare) {
  EXPECT_THAT(RefusalOf([] { StepBy("expert-parallel", Mixture(4).Build(), 1); }),
              HasSubstr("over two GPUs or more"));
  EXPECT_THAT(
      RefusalOf([] { StepBy("expert-parallel", Mixture(4).Build(), 3); }),
      HasSubstr("the 4 experts of 'experts/w' cannot be shared out evenly over 3 GPUs; the nearest number "
                "that divides them is 2"));
  EXPECT_THAT(
      RefusalOf([] { StepBy("data-parallel+expert-parallel:2+tensor-parallel:2", Mixture(4).Build(), 8); }),
      HasSubstr("is no strategy"));
}

}  // namespace
}  // namespace lanescope::study
