// SPDX-License-Identifier: Apache-2.0
// Products that share a launch with what lies between them, as attention's: which do, and what has memory
// then.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/graph/graph_builder.h"
#include "core/schedule/fused_cost.h"
#include "core/schedule/fusion.h"
#include "core/schedule/row_products.h"
#include "tests/core/schedule/compiled.h"

namespace lanescope {
namespace {

using test::CompileChecked;
using test::Everywhere;
using test::Fed;
using test::Floats;
using test::Gpu;
using test::TwoGpus;

using Ops = std::vector<std::string>;

// Attention of [2, 3, 64, 16] by [2, 3, 128, 16], as TensorFlow writes it, all on one GPU.
struct Attention : Fed {
  Endpoint q = Feed("q", Shape{2, 3, 64, 16}), k = Feed("k", Shape{2, 3, 128, 16});
  Endpoint v = Feed("v", Shape{2, 3, 128, 16});
  Endpoint scores, weights, result, dweights, dscores, dv, dq, dk;

  Endpoint Product(const std::string& name, Endpoint a, Endpoint b, bool turn_a, bool turn_b) {
    auto node = builder.Op("BatchMatMulV2", name);
    return node.Input(a).Input(b).Attr("adj_x", turn_a).Attr("adj_y", turn_b).Build();
  }
  void Forward() {
    scores = Product("scores", q, k, false, true);
    weights = Op("Softmax", "weights", {scores});
    result = Product("result", weights, v, false, false);
  }
  void Backward(Endpoint probabilities) {
    const Endpoint dy = Op("Neg", "dy", {result});
    dv = Product("dv", probabilities, dy, true, false);
    dweights = Product("dweights", dy, v, false, true);
    const Endpoint axis = builder.Const("axis", Tensor::FromValues<int32_t>(Shape{1}, {-1}));
    const Endpoint both = Op("Mul", "both", {dweights, probabilities});
    const Endpoint sum = builder.Op("Sum", "sum").Input(both).Input(axis).Attr("keep_dims", true).Build();
    dscores = Op("Mul", "dscores", {Op("Sub", "centred", {dweights, sum}), probabilities});
    dq = Product("dq", dscores, k, false, false);
    dk = Product("dk", dscores, q, true, false);
  }
  Schedule Compile(const std::vector<Endpoint>& fetches, bool fuse = true) const {
    return CompileOn(TwoGpus(), fetches, fuse);
  }
  Schedule CompileOn(const Machine& machine, const std::vector<Endpoint>& fetches, bool fuse) const {
    return Fed::CompileOn(Everywhere(builder.graph(), Gpu(0)), machine, fetches, fuse);
  }
  // Fused launches that run the node.
  static int64_t LaunchesOf(const Schedule& schedule, Endpoint endpoint) {
    return std::ranges::count_if(schedule.fused, [&](const FusedLaunch& launch) {
      return std::ranges::any_of(launch.nodes,
                                 [&](const FusedNode& node) { return node.node == endpoint.node; });
    });
  }
  static bool HasValue(const Schedule& schedule, Endpoint endpoint) {
    return std::ranges::any_of(schedule.values, [&](const Value& v) { return v.source == endpoint; });
  }
  Ops OpsOf(const Schedule& schedule) const {
    Ops ops;
    for (const Command& command : schedule.commands) {
      if (command.kind == CommandKind::kLaunch) ops.push_back(LaunchOp(builder.graph(), schedule, command));
    }
    return ops;
  }
};

TEST(AttentionLaunches, ForwardIsOneWithoutItsMatrices) {
  Attention of;
  of.Forward();
  EXPECT_EQ(of.OpsOf(of.Compile({of.result}, false)), Ops({"BatchMatMulV2", "Softmax", "BatchMatMulV2"}));
  const Schedule fused = of.Compile({of.result});
  EXPECT_EQ(of.OpsOf(fused), Ops({"fused BatchMatMulV2+Softmax+BatchMatMulV2 (3)"}));
  EXPECT_FALSE(Attention::HasValue(fused, of.scores));
  EXPECT_FALSE(Attention::HasValue(fused, of.weights));
}

// It reads q, k and v and writes the result; its FLOPs are those of its nodes.
TEST(AttentionLaunches, WorkIsThatOfTheNodesOnFewerBytes) {
  Attention of;
  of.Forward();
  const GraphInfo info = InferGraph(of.builder.graph(), of.feeds);
  const Schedule apart = of.Compile({of.result}, false), fused = of.Compile({of.result});
  const LaunchTraffic traffic = TrafficOf(of.builder.graph(), info, fused);
  EXPECT_EQ(traffic.launches, 1);
  EXPECT_EQ(traffic.bytes, 6 * 16 * 4 * (64 + 128 + 128 + 64));
  EXPECT_EQ(traffic.other_bytes(), 0);
  const auto flops = [&](const Schedule& schedule) {
    int64_t sum = 0;
    for (const Command& command : schedule.commands) {
      if (command.kind == CommandKind::kLaunch)
        sum += LaunchWork(of.builder.graph(), info, schedule, command).flops;
    }
    return sum;
  };
  EXPECT_EQ(flops(fused), flops(apart));
}

TEST(AttentionLaunches, ProbabilitiesThatOthersReadAreWritten) {
  Attention of;
  of.Forward();
  const Schedule fused = of.Compile({of.result, of.weights});
  EXPECT_EQ(of.OpsOf(fused), Ops({"fused BatchMatMulV2+Softmax+BatchMatMulV2 (3)"}));
  EXPECT_FALSE(Attention::HasValue(fused, of.scores));
  EXPECT_TRUE(Attention::HasValue(fused, of.weights));
}

TEST(AttentionLaunches, ScoresThatOthersReadStayAlone) {
  Attention of;
  of.Forward();
  EXPECT_EQ(of.OpsOf(of.Compile({of.result, of.scores})), Ops({"BatchMatMulV2", "Softmax", "BatchMatMulV2"}));
}

// Forward and backward are a launch each, and a host keeps the probabilities between them: computing them
// again would take longer.
TEST(AttentionLaunches, BackwardIsOneThatReadsProbabilities) {
  Attention of;
  of.Forward();
  of.Backward(of.weights);
  const std::vector<Endpoint> fetches = {of.result, of.dv, of.dq, of.dk};
  const Schedule apart = of.Compile(fetches, false), fused = of.Compile(fetches);
  EXPECT_EQ(of.OpsOf(apart).size(), 12u);
  EXPECT_EQ(of.OpsOf(fused).size(), 4u);
  EXPECT_EQ(of.LaunchesOf(fused, of.weights), 1);
  EXPECT_TRUE(Attention::HasValue(fused, of.weights));
  for (const Endpoint& matrices : {of.scores, of.dweights, of.dscores})
    EXPECT_FALSE(Attention::HasValue(fused, matrices)) << of.builder.graph().TensorName(matrices);
  EXPECT_LT(fused.arena_bytes[Gpu(0)], apart.arena_bytes[Gpu(0)]);
}

// 196,608 bytes of probabilities: more than a quarter of 700,000. A modelled GPU of 1 GFLOP and 1 MB a second
// computes them sooner than it moves them, one of 1 MFLOP and 1 GB a second does not.
TEST(AttentionLaunches, ProbabilitiesAreComputedAgainForMemoryOrTime) {
  Attention of;
  of.Forward();
  of.Backward(of.weights);
  const auto again = [&](int64_t memory, double flops, double bandwidth) {
    Machine machine = TwoGpus();
    DeviceSpec& device = machine.devices[Gpu(0)];
    device.memory_bytes = memory;
    if (flops > 0) device.kind = DeviceKind::kModelled;
    if (flops > 0) device.peak_flops[DataType::kFloat] = flops;
    device.memory_bandwidth = bandwidth;
    const Schedule fused = of.CompileOn(machine, {of.result, of.dv, of.dq, of.dk}, true);
    EXPECT_EQ(of.LaunchesOf(fused, of.weights), Attention::HasValue(fused, of.weights) ? 1 : 2);
    return !Attention::HasValue(fused, of.weights) && of.OpsOf(fused).size() == 3;
  };
  EXPECT_TRUE(again(700'000, 0, 0));
  EXPECT_FALSE(again(1'000'000, 0, 0));
  EXPECT_TRUE(again(1 << 30, 1e9, 1e6));
  EXPECT_FALSE(again(1 << 30, 1e6, 1e9));
}

bool MadeHere() { return true; }

// Physical GPUs for which kernels can be made share launches as modelled ones do, of results up to 256 wide:
// wider ones leave all products of their attention alone. Hosts have no such limit.
TEST(AttentionLaunches, OfPhysicalAndModelledGpusAreTheSame) {
  SetHardwareRunsFused(&MadeHere);
  for (const int64_t width : {256, 257}) {
    Attention of;
    of.v = of.Feed("wide", Shape{2, 3, 128, width});
    of.Forward();
    const auto ops = [&](DeviceKind kind) {
      Machine machine = TwoGpus();
      machine.devices[Gpu(0)].kind = kind;
      return of.OpsOf(of.CompileOn(machine, {of.result}, true));
    };
    EXPECT_EQ(ops(DeviceKind::kVirtual).size(), 1u);
    EXPECT_EQ(ops(DeviceKind::kModelled).size(), width == 256 ? 1u : 3u);
    EXPECT_EQ(ops(DeviceKind::kCuda), ops(DeviceKind::kModelled));
  }
  SetHardwareRunsFused(nullptr);
}

// A mask of random numbers would have to be there for computing again, and is as large: they are kept.
TEST(AttentionLaunches, ProbabilitiesWithDropoutAreKept) {
  Attention of;
  of.scores = of.Product("scores", of.q, of.k, false, true);
  of.weights = of.Op("Softmax", "weights", {of.scores});
  const Endpoint mask = of.Feed("mask", Shape{2, 3, 64, 128});
  const Endpoint half = of.Op("Neg", "mask/on_device", {mask});
  const Endpoint dropped = of.Op("Mul", "dropped", {of.weights, half});
  of.result = of.Product("result", dropped, of.v, false, false);
  of.Backward(dropped);
  const Schedule fused = of.Compile({of.result, of.dv, of.dq, of.dk});
  EXPECT_TRUE(Attention::HasValue(fused, dropped));
  EXPECT_FALSE(Attention::HasValue(fused, of.scores));
  EXPECT_FALSE(Attention::HasValue(fused, of.dweights));
}

// One matrix for all of a batch is a weight, and too large to be gone through for each block of rows.
TEST(AttentionLaunches, ProductsWithOneMatrixForAllStayAlone) {
  Attention of;
  const Endpoint weight = of.Feed("weight", Shape{16, 128});
  const Endpoint made = of.Product("made", of.q, weight, false, false);
  const Endpoint soft = of.Op("Softmax", "soft", {made});
  const Endpoint other = of.Feed("other", Shape{128, 16});
  const Endpoint last = of.Product("last", soft, other, false, false);
  EXPECT_EQ(of.OpsOf(of.Compile({last})), Ops({"BatchMatMulV2", "Softmax", "BatchMatMulV2"}));
}

// A product whose other factor comes of the same rows needs all of them.
TEST(AttentionLaunches, AProductOfTwoMatricesOfTheLaunchIsNoPartOfIt) {
  Attention of;
  of.Forward();
  const Endpoint square = of.Product("square", of.weights, of.Op("Exp", "exp", {of.weights}), false, true);
  const Ops ops = of.OpsOf(of.Compile({square}));
  EXPECT_EQ(ops.back(), "BatchMatMulV2");
}

// 64 x 128 elements: four matrices fill a block, six are one and a half.
TEST(AttentionLaunches, BlocksAreWholeMatricesOrEvenPartsOfOne) {
  EXPECT_EQ(RowsOfBlock({6, 64, 128}), 4 * 64);
  EXPECT_EQ(RowsOfBlock({2, 64, 128}), 2 * 64);
  EXPECT_EQ(RowsOfBlock({48, 256, 256}), 128);
  EXPECT_EQ(RowsOfBlock({1, 300, 4096}), 75);
}

}  // namespace
}  // namespace lanescope
