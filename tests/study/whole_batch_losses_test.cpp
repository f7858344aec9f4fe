// SPDX-License-Identifier: Apache-2.0
// Losses that are no plain mean over the batch, where strategies share the batch out: the truth is one
// device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/strategies/graph_strategy.h"
#include "graphs/ops.h"
#include "graphs/optimizer.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"

namespace lanescope::study {
namespace {

namespace op = graphs::op;
using graphs::Scope;
using ::testing::HasSubstr;

constexpr int64_t kRows = 16, kWide = 4;

// A loss is made of the outputs of a model of two layers, and of how much each row of the batch counts.
struct Rows {
  Scope& s;
  Endpoint outputs;  // [batch, columns]
  Endpoint losses;   // [batch]
  Endpoint counts;   // [batch], of which parts of the batch have other sums
};
using Loss = std::function<Endpoint(const Rows&)>;

Workload ModelWith(const Loss& loss) {
  Scope s;
  RunSpec spec;
  FeedSpec& rows = spec.feeds["x"];
  rows.shape = Shape{kRows, kWide};
  rows.generator = "uniform";
  FeedSpec& counts = spec.feeds["counts"];
  counts.shape = Shape{kRows};
  counts.values = Tensor::FromValues(Shape{kRows}, std::vector<float>{1, 1, 1, 1, 1, 1, 0, 1,  //
                                                                      0, 0, 0, 0, 2, 0, 0, 0});
  spec.batch_axis = {{"x", 0}, {"counts", 0}};
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {kUnknownDim, kWide}});
  const Endpoint count = op::Placeholder(s, DataType::kFloat, {.name = "counts", .shape = {kUnknownDim}});
  const auto weight = [&](const std::string& name) {
    std::vector<float> values(kWide * kWide);
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(3 * i + name.back()));
    return s.NewVariable(Tensor::FromValues(Shape{kWide, kWide}, values), {.name = name}).value;
  };
  const Endpoint hidden = op::Tanh(s, op::MatMul(s, x, weight("h/0/w")));
  const Endpoint y = op::MatMul(s, hidden, weight("h/1/w"));
  const Endpoint made = loss({s, y, op::Sum(s, op::Square(s, op::Sub(s, y, 0.5f)), {1}), count});
  graphs::GradientDescentOptimizer descent(0.05f);
  const Endpoint step = descent.Minimize(s, made);
  const Endpoint init = graphs::InitializeVariables(s);
  spec.loss = s.graph().TensorName(made);
  spec.fetches = {spec.loss};
  spec.targets = {s.graph().node(step.node).name};
  spec.init = {s.graph().node(init.node).name};
  return {"losses", s.Take(), spec};
}

Endpoint WeightedSum(const Rows& of) { return op::Sum(of.s, op::Mul(of.s, of.losses, of.counts), {0}); }
Endpoint AllCounts(const Rows& of) { return op::Sum(of.s, of.counts, {0}); }

Endpoint MeanLoss(const Rows& of) { return op::Mean(of.s, of.losses, {0}); }
Endpoint SumLoss(const Rows& of) { return op::Mul(of.s, WeightedSum(of), 0.1f); }
Endpoint MaskedMean(const Rows& of) { return op::RealDiv(of.s, WeightedSum(of), AllCounts(of)); }
Endpoint MaskedMeanOfOne(const Rows& of) {
  return op::RealDiv(of.s, WeightedSum(of), op::Maximum(of.s, AllCounts(of), 1.0f));
}
Endpoint SumAndMean(const Rows& of) { return op::AddV2(of.s, SumLoss(of), MeanLoss(of)); }
// The second factor's gradient goes through the divisor.
Endpoint LearnedCounts(const Rows& of) {
  const Endpoint counts = op::Sigmoid(of.s, op::Sum(of.s, of.outputs, {1}));
  return op::RealDiv(of.s, op::Sum(of.s, op::Mul(of.s, of.losses, counts), {0}), op::Sum(of.s, counts, {0}));
}
Endpoint Numbers(const Rows& of) { return op::Cast(of.s, of.counts, DataType::kInt32); }
Endpoint Positions(const Rows& of) { return op::Range(of.s, 0, op::Size(of.s, Numbers(of)), 1); }
// Rows in the order of their whole numbers, and those numbers by where runs of equal ones end: as a mixture
// of experts does with its tokens. It is SumLoss again.
Endpoint SumByRuns(const Rows& of) {
  Scope& s = of.s;
  const Endpoint numbers = Numbers(of), size = op::Size(s, numbers);
  const Endpoint order = op::TopKV2(s, op::Neg(s, numbers), size).indices;
  const Endpoint ones = op::Fill(s, op::ExpandDims(s, size, 0), 1.0f);
  const Endpoint ends =
      op::Cumsum(s, op::Cast(s, op::UnsortedSegmentSum(s, ones, numbers, 3), DataType::kInt32), 0);
  const Endpoint passed =
      op::GreaterEqual(s, op::ExpandDims(s, Positions(of), 1), op::ExpandDims(s, ends, 0));
  const Endpoint run = op::Sum(s, op::Cast(s, passed, DataType::kFloat), {1});
  const Endpoint sorted = op::GatherV2(s, of.losses, order, 0);
  return op::Mul(s, op::Sum(s, op::Mul(s, sorted, run), {0}), 0.1f);
}
// Columns of the batch with mean 0 and variance 1.
Endpoint Standardized(const Rows& of) {
  const Endpoint mean = op::Mean(of.s, of.outputs, {0});
  const Endpoint far = op::Sub(of.s, of.outputs, mean);
  const Endpoint variance = op::Mean(of.s, op::Square(of.s, far), {0});
  const Endpoint unit = op::Mul(of.s, far, op::Rsqrt(of.s, op::AddV2(of.s, variance, 1e-3f)));
  return op::Mean(of.s, op::Mul(of.s, op::Sum(of.s, op::Sigmoid(of.s, unit), {1}), of.counts), {0});
}

void ExpectLikeOneDevice(const Loss& loss, const std::vector<std::pair<std::string, int>>& strategies) {
  const Workload workload = ModelWith(loss);
  for (const int steps : {1, 3}) {
    const double one = LossAfter(workload, "single", VirtualMachine(1, 1), steps);
    for (const auto& [strategy, gpus] : strategies) {
      const double found = LossAfter(workload, strategy, VirtualMachine(gpus, 1), steps);
      EXPECT_NEAR(found / one, 1, 2e-6) << strategy << " on " << gpus << " after " << steps;
    }
  }
}
const std::vector<std::pair<std::string, int>> kByReplicas = {
    {"data-parallel", 2},        {"data-parallel", 4},         {"fsdp", 2}, {"zero1", 4}, {"zero2", 2},
    {"data-parallel+fsdp:2", 4}, {"fsdp+tensor-parallel:2", 4}};
const std::vector<std::pair<std::string, int>> kByStages = {
    {"pipeline", 2}, {"pipeline-gpipe", 2}, {"pipeline-zero-bubble", 2}, {"data-parallel+pipeline:2", 4}};

// Law: whatever the loss makes of the batch, parts of it train as the whole does.
TEST(WholeBatchLossesTest, ReplicasTrainLikeOneDevice) {
  for (const auto loss : {&MeanLoss, &SumLoss, &MaskedMean, &MaskedMeanOfOne, &SumAndMean, &LearnedCounts,
                          &Standardized, &SumByRuns})
    ExpectLikeOneDevice(loss, kByReplicas);
}

// Law: micro-batches do, where what counts is fed.
TEST(WholeBatchLossesTest, MicroBatchesTrainLikeOneDevice) {
  for (const auto loss : {&MeanLoss, &SumLoss, &MaskedMean, &MaskedMeanOfOne, &SumAndMean, &SumByRuns})
    ExpectLikeOneDevice(loss, kByStages);
}

// Law: a plain mean needs nothing beside the means of gradients; a divisor is one sum more, and a sum of
// losses has sums of gradients.
TEST(WholeBatchLossesTest, WhatIsJoinedIsSaidByTheLoss) {
  const auto count = [&](const Loss& loss, std::string_view op) {
    return CountOf(op, StepBy("data-parallel", ModelWith(loss), 2).graph);
  };
  EXPECT_EQ(count(&MaskedMean, "AddN"), count(&MeanLoss, "AddN") + 1);
  const Graph graph = StepBy("data-parallel", ModelWith(&SumLoss), 2).graph;
  const Workload model = ModelWith(&SumLoss);
  for (const Node& node : graph.nodes()) {
    if (node.op != "ResourceApplyGradientDescent") continue;
    EXPECT_EQ(graph.node(node.inputs[2].node).op, "AddN") << node.name;
  }
}

// Law: micro-batches that would need a sum over all of them before it is there are refused with the node.
TEST(WholeBatchLossesTest, MicroBatchesCannotWaitForEachOther) {
  for (const auto loss : {&LearnedCounts, &Standardized}) {
    const std::string refusal = RefusalOf([&] { StepBy("pipeline", ModelWith(loss), 2); });
    EXPECT_THAT(refusal, HasSubstr("pipeline: '"));
    EXPECT_THAT(refusal, HasSubstr("summed over the whole batch"));
  }
}

// Law: what sets rows of the batch against each other is refused with the node and what it does.
TEST(WholeBatchLossesTest, RowsCannotMeet) {
  const auto refused = [&](const std::function<Endpoint(const Rows&)>& loss) {
    const Workload workload = ModelWith(loss);
    const std::string refusal = RefusalOf([&] { StepBy("data-parallel", workload, 2); });
    EXPECT_EQ(RefusalOf([&] { StepBy("fsdp", workload, 2); }).substr(4), refusal.substr(refusal.find(':')));
    return refusal;
  };
  EXPECT_THAT(refused([](const Rows& of) { return op::Mean(of.s, op::Cumsum(of.s, of.losses, 0), {0}); }),
              HasSubstr("'Cumsum' (Cumsum) goes along the rows of the batch"));
  EXPECT_THAT(refused([](const Rows& of) {
                const Endpoint pairs = op::MatMul(of.s, of.outputs, of.outputs, {.transpose_b = true});
                return op::Mean(of.s, pairs, {0, 1});
              }),
              HasSubstr("sets rows of the batch against each other"));
  EXPECT_THAT(refused([](const Rows& of) { return op::Max(of.s, of.losses, {0}); }),
              HasSubstr("(Max) compares rows of the batch"));
  EXPECT_THAT(refused([](const Rows& of) {
                return op::Mean(of.s, op::Sum(of.s, op::ReverseV2(of.s, of.outputs, {0}), {1}), {0});
              }),
              HasSubstr("turns the rows of the batch round"));
  EXPECT_THAT(refused([](const Rows& of) {
                const Endpoint many = op::Cast(of.s, AllCounts(of), DataType::kInt32);
                const Endpoint first = op::Cast(of.s, op::Less(of.s, Positions(of), many), DataType::kFloat);
                return op::Sum(of.s, op::Mul(of.s, of.losses, first), {0});
              }),
              HasSubstr("(Less) numbers the rows of the batch"));
  EXPECT_THAT(refused([](const Rows& of) {
                const Endpoint less = op::Sub(of.s, op::Size(of.s, of.losses), 1);
                return op::RealDiv(of.s, WeightedSum(of), op::Cast(of.s, less, DataType::kFloat));
              }),
              HasSubstr("(Cast) computes with a size that is no multiple of the batch"));
}

// Law: an op that no rule knows may mix rows, as where each part picks as many elements as it has, so that
// means of the parts are no mean of the batch; on one device it trains.
TEST(WholeBatchLossesTest, OpsWithoutARuleAreRefused) {
  const Loss picked = [](const Rows& of) {
    const Endpoint places = op::Where(of.s, op::Greater(of.s, of.counts, 0.0f));
    return op::Mean(of.s, op::GatherNd(of.s, of.losses, places), {0});
  };
  EXPECT_GT(LossAfter(ModelWith(picked), "single", VirtualMachine(1, 1), 1), 0);
  for (const std::string strategy : {"data-parallel", "fsdp", "pipeline"}) {
    EXPECT_THAT(RefusalOf([&] { StepBy(strategy, ModelWith(picked), 2); }),
                HasSubstr(strategy + ": 'Where' (Where) may work across rows of the batch, as no rule says"));
  }
}

// Law: what is put behind each row belongs to it; what is put behind the last one belongs to no part.
TEST(WholeBatchLossesTest, PaddingIsOfRows) {
  const auto padded = [](std::vector<int> pads) {
    return [pads = std::move(pads)](const Rows& of) {
      const Endpoint sides = op::Const(of.s, Tensor::FromValues(Shape{2, 2}, pads));
      return op::Mean(of.s, op::Square(of.s, op::PadV2(of.s, of.outputs, sides, 0.5f)), {0, 1});
    };
  };
  ExpectLikeOneDevice(padded({0, 0, 1, 2}), {{"data-parallel", 2}, {"pipeline", 2}});
  EXPECT_THAT(RefusalOf([&] {
                StepBy("data-parallel", ModelWith(padded({0, 2, 0, 0})), 2);
              }),
              HasSubstr("(PadV2) takes some rows of the batch"));
}

// Law: a batch norm has more than one value of a channel in each part, or nothing but its shift would be
// left.
TEST(WholeBatchLossesTest, APartHasMoreThanOneValueOfAChannel) {
  const Loss normalized = [](const Rows& of) {
    const Endpoint images = op::Reshape(of.s, of.outputs, {-1, 1, 1, 4});
    const Endpoint ones = op::Const(of.s, {1.0f, 1.0f, 1.0f, 1.0f});
    const auto norm = op::FusedBatchNormV3(of.s, images, ones, ones, ones, ones);
    return op::Mean(of.s, op::Sigmoid(of.s, norm.y), {0, 1, 2, 3});
  };
  EXPECT_NO_THROW(StepBy("data-parallel", ModelWith(normalized), 8));
  EXPECT_THAT(RefusalOf([&] { StepBy("data-parallel", ModelWith(normalized), 16); }),
              HasSubstr("has one value of a channel in each part"));
}

}  // namespace
}  // namespace lanescope::study
