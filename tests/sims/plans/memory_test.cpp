// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sims/plans/parameters.h"

namespace lanescope::sims::plans {
namespace {

PlanMemory MemoryOf(const std::string& plan, double batch = 64, const char* model = "llama-3-8b",
                    int stage = 0) {
  return MemoryByStage(NamedModel(model), ParsePlan(plan), batch, 4096)[stage];
}

// Law: Adam of mixed precision holds 12 bytes a parameter beside weights and gradients in bf16; ZeRO-1 splits
// those 12 alone over the replicas.
TEST(PlanMemoryTest, AdamUnderZero1) {
  const double parameters = Parameters(NamedModel("llama-3-8b")) - 4096;  // the last norm is not counted
  const PlanMemory memory = MemoryOf("dp=8,shard=zero1,kernels=fused");
  EXPECT_NEAR(memory.weights, 2 * parameters, 1);
  EXPECT_NEAR(memory.gradients, 2 * parameters, 1);
  EXPECT_NEAR(memory.optimizer, 12 * parameters / 8, 1);
}

// Law: fully sharded, all 16 bytes are split.
TEST(PlanMemoryTest, FullySharded) {
  const double parameters = Parameters(NamedModel("llama-3-8b")) - 4096;
  const PlanMemory memory = MemoryOf("dp=8,shard=fsdp2");
  EXPECT_NEAR(memory.weights + memory.gradients + memory.optimizer, 16 * parameters / 8, 1);
  EXPECT_GT(memory.gathered, 0);
}

// Law: one forward, one backward: stage s of p is p - s micro-batches ahead; with v parts it is
// 2 (p - s - 1) + (v - 1) p + 1 parts ahead.
TEST(PlanMemoryTest, StagesAreAheadOfTheirGradients) {
  const Plan plain = ParsePlan("pp=4"), parts = ParsePlan("pp=4,vpp=2");
  EXPECT_EQ(PassesInFlight(plain, 0, 16), 4);
  EXPECT_EQ(PassesInFlight(plain, 3, 16), 1);
  EXPECT_EQ(PassesInFlight(plain, 0, 2), 2);
  EXPECT_EQ(PassesInFlight(parts, 0, 16), 2 * 3 + 4 + 1);
  EXPECT_EQ(PassesInFlight(parts, 3, 16), 4 + 1);
}

// Law: recomputed whole, a layer keeps its input, 2 bytes a value; sequence parallelism splits it.
TEST(PlanMemoryTest, RecomputationKeepsInputs) {
  const ModelShape model = NamedModel("llama-3-8b");
  EXPECT_EQ(SavedBytes(model, ParsePlan("recompute=full,micro=2"), 4096), 2.0 * 4096 * 2 * 4096);
  EXPECT_EQ(SavedBytes(model, ParsePlan("recompute=full,micro=2,tp=4,sp"), 4096), 2.0 * 4096 * 2 * 4096 / 4);
  EXPECT_LT(SavedBytes(model, ParsePlan("recompute=selective"), 4096),
            SavedBytes(model, ParsePlan("dp=1"), 4096));
}

// Law: PyTorch's cross entropy holds 14 bytes a logit at its peak (logits in bf16, their logarithmic softmax
// and two gradients in fp32: MemTracker, torch 2.15); one kernel on logits in bf16 holds them and their
// gradients.
TEST(PlanMemoryTest, AFusedLossHoldsLogitsAndTheirGradientsInBf16) {
  const double logits = 2.0 * 4096 * 128256;
  EXPECT_EQ(MemoryOf("dp=8,micro=2").logits, 14 * logits);
  EXPECT_EQ(MemoryOf("dp=8,micro=2,kernels=fused").logits, 8 * logits);
  EXPECT_EQ(MemoryOf("dp=8,micro=2,loss=fused").logits, 4 * logits);
}

// Law: logits are gone when the last layer is computed again, so that the larger of the two counts.
TEST(PlanMemoryTest, LogitsMakeRoomForALayerThatIsComputedAgain) {
  const ModelShape model = NamedModel("llama-3-8b");
  const double inputs = 32 * SavedBytes(model, ParsePlan("recompute=full"), 4096);
  const double layer = SavedBytes(model, ParsePlan("dp=1"), 4096);
  const PlanMemory many = MemoryOf("dp=8,recompute=full"), few = MemoryOf("dp=8,recompute=full,loss=fused");
  EXPECT_GT(many.logits, layer);
  EXPECT_NEAR(many.activations, inputs, 1);
  EXPECT_NEAR(few.activations + few.logits, inputs + std::max(layer, few.logits), 1);
}

// Law: frozen matrices need no input for their gradients. Of a block with SwiGLU in bf16 that is the
// normalised input of the network and the gates' product, 2 (h + ffn) bytes a token.
TEST(PlanMemoryTest, FrozenMatricesKeepNoInputs) {
  ModelShape model = NamedModel("llama-2-70b");
  const Plan plan = ParsePlan("dp=8,kernels=fused");
  const double trained = SavedBytes(model, plan, 1);
  model.lora_rank = 16;
  EXPECT_EQ(trained - SavedBytes(model, plan, 1), 2 * (8192 + 28672));
}

// Law: of 126 layers over 8 stages the ends have 15, the others 16.
TEST(PlanMemoryTest, EndsHaveFewerLayers) {
  const ModelShape model = NamedModel("llama-3.1-405b");
  const Plan plan = ParsePlan("tp=4,pp=8");
  double sum = 0;
  for (int stage = 0; stage < 8; ++stage) sum += StageLayers(model, plan, stage);
  EXPECT_EQ(sum, 126);
  EXPECT_EQ(StageLayers(model, plan, 0), 15);
  EXPECT_EQ(StageLayers(model, plan, 1), 16);
}

TEST(PlanMemoryTest, ExpertsLieOnTheirGpus) {
  const ModelShape model = NamedModel("qwen3-30b-a3b");
  const StageParameters whole = ParametersOf(model, ParsePlan("dp=8"), 0);
  const StageParameters split = ParametersOf(model, ParsePlan("dp=8,ep=8"), 0);
  EXPECT_NEAR(whole.experts / split.experts, 8, 1e-9);
  EXPECT_EQ(whole.dense, split.dense);
}

// Expected: 47.65 GiB reserved by the largest rank, torchao's table of Llama 3 8B with FSDP2 on 8 GPUs.
TEST(PlanMemoryTest, APublishedPeakIsNear) {
  const Plan plan = ParsePlan("dp=8,shard=fsdp2,recompute=selective");
  const double gib =
      FullestStageOf(NamedModel("llama-3-8b"), plan, 8, 8192).memory.bytes() / (1024.0 * 1024 * 1024);
  EXPECT_NEAR(gib / 47.65, 1, 0.03);
}

}  // namespace
}  // namespace lanescope::sims::plans
