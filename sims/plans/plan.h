// SPDX-License-Identifier: Apache-2.0
// A plan: how a transformer's training step is laid out over GPUs, as text and as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sims/plans/model_shape.h"

namespace lanescope::sims::plans {

enum class Sharding : uint8_t {
  kNone,   // every replica has all: all-reduce of gradients
  kZero1,  // optimizer state split over replicas (Megatron's distributed optimizer)
  kZero2,  // and gradients; parameters are gathered once a step
  kZero3,  // and parameters, gathered for forward and backward (FSDP1)
  kFsdp2,  // the same, parameter by parameter (PyTorch's fully_shard)
  kHsdp,   // fsdp2 within `shard_size` replicas, all-reduce between them
};
enum class Recompute : uint8_t { kNone, kSelective, kFull };
enum class Precision : uint8_t {
  kBf16,      // products in bf16, parameters and optimizer in fp32
  kPureBf16,  // all in bf16
  kFp8,       // products of layers in fp8, a scale a tensor
  kFp8Row,    // a scale a row
  kMxfp8,     // a scale for 32 values
  kFp8Block,  // a scale for 128 x 128
  kNvfp4,
};
inline constexpr int kNumPrecisions = 7;
// The author of the kernels between products.
enum class Kernels : uint8_t {
  kEager,     // PyTorch's, one an operation
  kCompiled,  // torch.compile's
  kFused,     // hand-written (Transformer Engine, Megatron)
};
enum class Attention : uint8_t {
  kBest,     // what is measured for the GPU (flash attention 3, cuDNN)
  kUnfused,  // scores lie in memory
  kFlash1,   // flash attention 1, Triton's
  kFlash2,   // flash attention 2
  kFp8,      // scores and values from fp8
};
enum class Loss : uint8_t {
  kPlain,  // what the author of the other kernels has: logits in fp32, their softmax, their gradients
  kFused,  // one kernel that reads logits in bf16 and writes their gradients
};

std::string_view PrecisionName(Precision precision);  // "bf16", "pure-bf16", ...
std::string_view ShardingName(Sharding sharding);
std::string_view RecomputeName(Recompute recompute);

struct Plan {
  int dp = 1, tp = 1, pp = 1, cp = 1, ep = 1, vpp = 1;
  int micro = 1;  // sequences of a replica at once
  bool sp = false;
  Sharding shard = Sharding::kNone;
  int shard_size = 0;  // of kHsdp
  Recompute recompute = Recompute::kNone;
  Precision precision = Precision::kBf16;
  Kernels kernels = Kernels::kCompiled;
  Attention attention = Attention::kBest;
  Loss loss = Loss::kPlain;
  bool graphs = false;      // launches are recorded in CUDA graphs
  bool tp_overlap = false;  // collectives of tensor parallelism run beside products
  int64_t gpus() const { return int64_t{dp} * tp * pp * cp; }

  // GPUs that hold the same parameters of the dense layers.
  int replicas() const { return dp * cp; }
  // GPUs that split what `shard` splits of the dense layers.
  int shard_ways() const { return shard == Sharding::kHsdp && shard_size > 0 ? shard_size : replicas(); }
  bool ShardsParameters() const {
    return shard == Sharding::kZero3 || shard == Sharding::kFsdp2 || shard == Sharding::kHsdp;
  }
};

// "dp=4,tp=2,pp=2,cp=1,ep=1,vpp=1,shard=fsdp2,recompute=full,micro=8,sp,precision=bf16". What is not said is
// as above. Throws InvalidArgument in one line, with the nearest name.
Plan ParsePlan(std::string_view text);
// Text that ParsePlan reads back: numbers of 1 and defaults are left out, but for dp.
std::string PlanText(const Plan& plan);

// Throws InvalidArgument for what are no whole numbers of sequences and tokens, up to 10 and 100 million.
void CheckBatch(double global_batch, double sequence);
// Throws InvalidArgument, with the nearest number that divides, where the plan does not divide the model, the
// batch of `global_batch` sequences of `sequence` tokens, or `gpus` GPUs.
void CheckPlan(const Plan& plan, const ModelShape& model, double global_batch, double sequence, double gpus);

}  // namespace lanescope::sims::plans
