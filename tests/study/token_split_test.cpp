// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/strategies/collective_members.h"
#include "core/strategies/graph_strategy.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"
#include "tests/study/small_transformer.h"

namespace lanescope::study {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBatch = Transformer::kBatch, kHeads = Transformer::kHeads,
                  kColumns = Transformer::kColumns, kWords = Transformer::kWords;

int64_t PeakOfGpus(const Workload& workload, const std::string& strategy, const Machine& machine) {
  const PlacedGraph placed = Place(workload, strategy, machine, RooflineCost());
  const Schedule schedule = CompileStep(placed, machine);
  int64_t peak = 0;
  for (const DeviceId gpu : machine.Gpus()) peak = std::max(peak, schedule.arena_bytes[gpu]);
  return peak;
}

// Law: parts of the tokens change what is computed by rounding alone, alone and in products.
TEST(TokenSplitTest, TrainsLikeOneDevice) {
  const Workload workload = Transformer(8).Take();
  const double one = LossAfter(workload, "single", VirtualMachine(1, 1), 4);
  for (const std::string strategy : {"sequence-parallel", "context-parallel"}) {
    for (const int gpus : {2, 4})
      EXPECT_NEAR(LossAfter(workload, strategy, VirtualMachine(gpus, 1), 4) / one, 1, 1e-6)
          << strategy << gpus;
    for (const std::string outer : {"data-parallel", "fsdp", "pipeline"}) {
      const std::string product = outer + "+" + strategy + ":2";
      EXPECT_NEAR(LossAfter(workload, product, VirtualMachine(4, 1), 4) / one, 1, 1e-6) << product;
    }
  }
}

// Law: in products tokens are shared as they are alone, though a feed is cut into rows before.
TEST(TokenSplitTest, ProductsShareTokens) {
  const Workload workload = Transformer(8).Take();
  for (const std::string outer : {"data-parallel", "fsdp", "zero1"}) {
    const StepGraph written = StepBy(outer + "+context-parallel:2", workload, 4);
    EXPECT_EQ(ShapeIn(written, "rank_1/replica_1/BatchMatMulV2"), (Shape{kBatch / 2, kHeads, 4, 8})) << outer;
  }
  const StepGraph stages = StepBy("pipeline+sequence-parallel:2", workload, 4);
  EXPECT_GT(CountOf("CollectiveReduceScatterV2", stages.graph), 0);
}

// Law: of GPUs that share tokens, each may be several that share matrices: queries are of a part of the
// tokens and of the heads, keys of all tokens and the same heads.
TEST(TokenSplitTest, TokensAndMatricesTogether) {
  const Workload workload = Transformer(8).Take();
  const StepGraph written = StepBy("context-parallel+tensor-parallel:2", workload, 4);
  EXPECT_EQ(ShapeIn(written, "rank_1/rank_1/BatchMatMulV2"), (Shape{kBatch, kHeads / 2, 4, 8}));
  for (const char* name : {"h0_q", "h0_up"}) {
    const Shape whole = workload.graph().node(workload.graph().FindNode(name)).GetShapeAttr("shape");
    EXPECT_EQ(PartOnRank1(std::string("rank_1/") + name, written.graph),
              (Shape{whole.dim(0), whole.dim(1) / 2}));
  }
  const double one = LossAfter(workload, "single", VirtualMachine(1, 1), 4);
  for (const std::string inner : {"tensor-parallel", "sequence-parallel"}) {
    const std::string both = "context-parallel+" + inner + ":2";
    EXPECT_NEAR(LossAfter(workload, both, VirtualMachine(4, 1), 4) / one, 1, 1e-6) << both;
    for (const std::string outer : {"data-parallel", "fsdp", "zero1", "zero2", "pipeline"}) {
      const std::string product = outer + "+context-parallel:2+" + inner + ":2";
      EXPECT_NEAR(LossAfter(workload, product, VirtualMachine(8, 1), 4) / one, 1, 1e-6) << product;
    }
  }
}

// Law: no two collectives of a step have one instance key, whoever has written them.
TEST(TokenSplitTest, KeysOfCollectivesDiffer) {
  const Workload workload = Transformer(8).Take();
  const StepGraph written = StepBy("fsdp+context-parallel:2+sequence-parallel:2", workload, 8);
  const Graph& graph = written.graph;
  const CollectiveMembers members(graph);
  std::map<int32_t, NodeId> first_of;
  for (const NodeId id : graph.node_ids()) {
    if (!HasInstance(graph.node(id))) continue;
    const Tensor* key = &graph.node(graph.node(id).inputs[kInstanceInput].node).GetTensorAttr("value");
    const NodeId first = members.Of(id).front();
    EXPECT_EQ(first_of.emplace(*key->data<int32_t>(), first).first->second, first) << graph.node(id).name;
  }
  EXPECT_GT(first_of.size(), 10u);
}

// Law: by matrices and tokens, matrices lie as by matrices alone, and norms are whole; instead of two sums a
// block are a gathering and a scattering. (Korthikanti et al., 2022, section 4.2.2)
TEST(TokenSplitTest, GathersAndScattersInsteadOfSums) {
  const Workload workload = Transformer(8).Take();
  const StepGraph matrices = StepBy("tensor-parallel", workload, 2),
                  both = StepBy("sequence-parallel", workload, 2);
  for (const char* name : {"h0_q", "h0_out", "h0_up", "h0_down", "table"})
    EXPECT_EQ(PartOnRank1(name, both.graph), PartOnRank1(name, matrices.graph)) << name;
  EXPECT_EQ(PartOnRank1("h0_norm_1", both.graph), (Shape{kColumns}));
  EXPECT_EQ(CountOf("CollectiveGatherV2", matrices.graph), 0);
  EXPECT_GT(CountOf("CollectiveGatherV2", both.graph), 0);
  EXPECT_GT(CountOf("CollectiveReduceScatterV2", both.graph), 0);
  const Workload again("again", both.graph, both.spec);
  const auto shape = [&](const std::string& node) {
    return again.info().of({again.graph().FindNode(node), 0}).shape;
  };
  EXPECT_EQ(shape("rank_1/Mul_1"), (Shape{kBatch, 4, kColumns}));  // behind the first norm
}

// Law: by tokens the model is whole on every GPU, and gradients of every variable are summed.
TEST(TokenSplitTest, ContextLeavesTheModelWhole) {
  const Workload workload = Transformer(8).Take();
  const StepGraph written = StepBy("context-parallel", workload, 4);
  for (const char* name : {"h0_q", "h0_up", "h0_norm_1"}) {
    EXPECT_EQ(PartOnRank1(name, written.graph),
              workload.graph().node(workload.graph().FindNode(name)).GetShapeAttr("shape"));
  }
  const Workload again("again", written.graph, written.spec);
  const auto shape = [&](const std::string& node) {
    return again.info().of({again.graph().FindNode(node), 0}).shape;
  };
  // Queries are those of two tokens, keys all.
  EXPECT_EQ(shape("rank_3/BatchMatMulV2"), (Shape{kBatch, kHeads, 2, 8}));
  EXPECT_EQ(shape("rank_3/LogSoftmax"), (Shape{kBatch * 2, kWords}));
}

// Law: activations take less memory in parts along the tokens.
TEST(TokenSplitTest, ActivationsTakeLess) {
  const Workload workload = Transformer(16, 6).Take();
  const Machine machine = VirtualMachine(4, 1);
  const int64_t matrices = PeakOfGpus(workload, "tensor-parallel", machine);
  EXPECT_LT(PeakOfGpus(workload, "sequence-parallel", machine), matrices);
  EXPECT_LT(PeakOfGpus(workload, "context-parallel", machine),
            PeakOfGpus(workload, "single", VirtualMachine(1, 1)));
}

// Law: tokens that do not divide are refused with the nearest number of GPUs that does.
TEST(TokenSplitTest, TokensHaveToDivide) {
  const Workload workload = Transformer(6).Take();
  for (const std::string strategy : {"sequence-parallel", "context-parallel"}) {
    const std::string refusal = RefusalOf([&] { StepBy(strategy, workload, 4); });
    EXPECT_THAT(refusal,
                HasSubstr(strategy + ": the 6 tokens of 'ids' cannot be shared out evenly over 4 GPUs"));
    EXPECT_THAT(refusal, HasSubstr("the nearest number that divides them is 3"));
  }
}

}  // namespace
}  // namespace lanescope::study
