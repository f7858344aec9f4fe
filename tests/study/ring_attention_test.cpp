// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/strategies/graph_strategy.h"
#include "tests/study/rewritten_graph.h"
#include "tests/study/small_transformer.h"

namespace lanescope::study {
namespace {

using Mask = Transformer::Mask;

// Scores that each of the devices computes, forward, in one head of one sequence.
std::map<std::string, int64_t> ScoresByDevice(const StepGraph& step) {
  const Workload written("written", step.graph, step.spec);
  std::map<std::string, int64_t> scores;
  for (const NodeId id : written.graph().node_ids()) {
    const Node& node = written.graph().node(id);
    const size_t end = node.name.rfind('_');
    if (!node.name.starts_with("ring-attention/BatchMatMulV2/") ||
        !node.name.substr(0, end).ends_with("/BatchMatMulV2"))
      continue;
    const Shape& shape = written.info().of({id, 0}).shape;
    scores[node.device] += shape.dim(2) * shape.dim(3);
  }
  return scores;
}

// Copies from a device to the next.
int64_t Sends(const std::string& what, const Graph& graph) {
  return std::ranges::count_if(graph.nodes(), [&](const Node& node) {
    const std::string_view name = std::string_view(node.name).substr(0, node.name.rfind('_'));
    return node.op == "Identity" && name.find("/step_") != std::string_view::npos &&
           name.ends_with("/" + what);
  });
}

// Law: attention in a ring changes what is computed by rounding alone: under a causal mask, whether or not
// tokens divide into two pieces a device, under one that is fed, and without any; alone and in products.
TEST(RingAttentionTest, TrainsLikeOneDevice) {
  for (const auto& [tokens, mask] : {std::pair<int64_t, Mask>{8, Mask::kCausal},
                                     {4, Mask::kCausal},
                                     {8, Mask::kStrict},
                                     {8, Mask::kCapped},
                                     {8, Mask::kFed},
                                     {8, Mask::kNone}}) {
    const Workload workload = Transformer(tokens, 2, mask).Take();
    const double one = LossAfter(workload, "single", VirtualMachine(1, 1), 4);
    for (const int gpus : {2, 4})
      EXPECT_NEAR(LossAfter(workload, "ring-attention", VirtualMachine(gpus, 1), 4) / one, 1, 1e-6)
          << tokens << " tokens, mask " << static_cast<int>(mask) << ", GPUs " << gpus;
  }
  const Workload workload = Transformer(8).Take();
  const double one = LossAfter(workload, "single", VirtualMachine(1, 1), 4);
  for (const std::string outer : {"data-parallel", "fsdp", "zero2", "pipeline"}) {
    EXPECT_NEAR(LossAfter(workload, outer + "+ring-attention:2", VirtualMachine(4, 1), 4) / one, 1, 1e-6)
        << outer;
  }
  EXPECT_NEAR(LossAfter(workload, "ring-attention+tensor-parallel:2", VirtualMachine(4, 1), 4) / one, 1,
              1e-6);
  EXPECT_NEAR(LossAfter(workload, "fsdp+ring-attention:2+sequence-parallel:2", VirtualMachine(8, 1), 4) / one,
              1, 1e-6);
}

// Law: what a causal mask hides between pieces is not computed, and all devices do the same: of 4 devices
// with 2 pieces each, 4 of its own pieces' products and 2 of each of three other devices'.
TEST(RingAttentionTest, ZigzagIsBalanced) {
  const StepGraph step = StepBy("ring-attention", Transformer(16).Take(), 4);
  const auto scores = ScoresByDevice(step);
  EXPECT_EQ(scores.size(), 4u);
  for (const auto& [device, own] : scores) EXPECT_EQ(own, (4 + 3 * 2) * 2 * 2) << device;
  const StepGraph gathered = StepBy("context-parallel", Transformer(16).Take(), 4);
  EXPECT_LT(CountOf("CollectiveGatherV2", step.graph), CountOf("CollectiveGatherV2", gathered.graph));
  // Every block goes to every other device, forward and backward.
  EXPECT_EQ(Sends("keys", step.graph), 3 * 4);
  EXPECT_EQ(Sends("values", step.graph), 3 * 4);
  EXPECT_EQ(Sends("keys_again", step.graph), 3 * 4);
}

// Law: tokens in a row leave out the blocks of later tokens, so the last device does most, and a block goes
// no further than somebody sees it.
TEST(RingAttentionTest, BlocksOfLaterTokensAreSkipped) {
  const StepGraph step = StepBy("ring-attention", Transformer(4).Take(), 4);
  std::vector<int64_t> own;
  for (const auto& [device, scores] : ScoresByDevice(step)) own.push_back(scores);
  EXPECT_EQ(own, (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(Sends("keys", step.graph), 3 + 2 + 1);
}

// Law: where nobody knows what a mask hides, every device works with every block. So it is where a large
// number hides all that a token could see, and where scores are brought back behind the mask.
TEST(RingAttentionTest, UnknownMasksHideNothing) {
  for (const Mask mask : {Mask::kFed, Mask::kNone, Mask::kCapped}) {
    const auto scores = ScoresByDevice(StepBy("ring-attention", Transformer(8, 1, mask).Take(), 4));
    EXPECT_EQ(scores.size(), 4u);
    for (const auto& [device, own] : scores) EXPECT_EQ(own, 2 * 8) << device;
  }
}

}  // namespace
}  // namespace lanescope::study
