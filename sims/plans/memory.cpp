// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/memory.h"

#include <algorithm>
#include <cmath>

#include "sims/plans/layer.h"
#include "sims/plans/parameters.h"

namespace lanescope::sims::plans {
namespace {

// Bytes of a parameter by who holds it. Frameworks that shard parameters keep them in fp32; fused ones keep
// bf16 weights and gradients and an fp32 copy in the optimizer; all in bf16 takes half.
struct StateBytes {
  double weight = 4, gradient = 4, optimizer = 8;
};
StateBytes StateOf(const Plan& plan) {
  if (plan.precision == Precision::kPureBf16) return {2, 2, 4};
  if (plan.kernels == Kernels::kFused && !plan.ShardsParameters()) return {2, 2, 12};
  return {4, 4, 8};
}

// The full activations of a layer, for every token: multiples of the hidden size (whole or split with the
// sequence), of queries, keys and values, and of the feed-forward width, in bytes.
double KeptPerToken(const ModelShape& model, const Plan& plan) {
  const double h = model.hidden / (plan.sp ? plan.tp : 1);
  const double attention = model.heads * model.HeadSize() / plan.tp;
  const double kv = 2 * model.KvHeads() * model.HeadSize() / plan.tp;
  const bool fused = plan.kernels == Kernels::kFused;
  const double input = fused ? BytesOf(FormatOf(plan.precision)) : 2;  // of products: as they read it
  const double width = model.ffn / plan.tp;
  const double gates = model.gated ? 2 : 1;
  const double again = model.gated && plan.kernels == Kernels::kEager ? 2 : 0;
  // Inputs of frozen matrices are kept for nothing; adapters beside them read theirs in bf16.
  const bool frozen = model.lora_rank > 0;
  const double read = frozen ? 0 : input, adapted = frozen ? 2 : input;
  // Input and normalised input of both halves; queries, keys, values and attention's result, which the next
  // product reads; gates and what becomes of them.
  double kept = (2 + adapted + 2 + read) * h + 2 * (attention + kv) + 2 * attention +
                (fused && adapted < 2 ? adapted * attention : 0);
  const auto ffn = [&](double values) { return (2 * gates + again + read) * values; };
  if (!model.IsMixture()) return kept + ffn(width);
  const double share = model.MoeLayers() / model.layers;
  const double routed = model.top_k * (ffn(model.expert_ffn) + 4 * model.hidden) / (plan.sp ? plan.tp : 1);
  return kept + (1 - share) * ffn(width) + share * (ffn(model.shared_ffn / plan.tp) + routed);
}

// By operation: products' results alternate between kept and computed again; attention's are kept.
double SelectedPerToken(const ModelShape& model, const Plan& plan) {
  const double h = model.hidden / (plan.sp ? plan.tp : 1);
  const double attention = model.heads * model.HeadSize() / plan.tp;
  const double kv = model.KvHeads() * model.HeadSize() / plan.tp;
  const double width = (model.IsMixture() ? model.top_k * model.expert_ffn : model.ffn) / plan.tp;
  return 2 * (2 * h + 2 * attention + kv + width);
}

// PyTorch's cross entropy holds logits in bf16, their logarithmic softmax in fp32 and the gradients of both
// (14 bytes by its MemTracker, torch 2.15); Megatron's keeps one in fp32; a fused one logits and their
// gradients in bf16.
double LogitBytes(const Plan& plan) {
  if (plan.loss == Loss::kFused) return 4;
  return plan.kernels == Kernels::kFused ? 8 : 14;
}

}  // namespace

std::pair<std::string_view, double> PlanMemory::largest() const {
  const std::pair<std::string_view, double> parts[] = {{"weights", weights},     {"gradients", gradients},
                                                       {"optimizer", optimizer}, {"activations", activations},
                                                       {"logits", logits},       {"gathered", gathered}};
  return *std::max_element(std::begin(parts), std::end(parts),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

double SavedBytes(const ModelShape& model, const Plan& plan, double sequence) {
  const double tokens = plan.micro * sequence / plan.cp;
  switch (plan.recompute) {
    case Recompute::kNone:
      return tokens * KeptPerToken(model, plan);
    case Recompute::kSelective:
      return tokens *
             (plan.kernels == Kernels::kFused ? KeptPerToken(model, plan) : SelectedPerToken(model, plan));
    case Recompute::kFull:
      return tokens * 2 * model.hidden / (plan.sp ? plan.tp : 1);
  }
  return 0;
}

double PassesInFlight(const Plan& plan, int stage, double micro_batches) {
  const double behind = plan.pp - 1 - stage;
  if (plan.vpp == 1) return std::min(micro_batches, behind + 1);
  return std::min(micro_batches * plan.vpp, 2 * behind + (plan.vpp - 1) * plan.pp + 1);
}

std::vector<PlanMemory> MemoryByStage(const ModelShape& model, const Plan& plan, double global_batch,
                                      double sequence) {
  const double micro_batches = std::max(1.0, global_batch / (static_cast<double>(plan.micro) * plan.dp));
  const double tokens = plan.micro * sequence / plan.cp;
  const StateBytes state = StateOf(plan);
  const double saved = SavedBytes(model, plan, sequence);
  Plan whole = plan;
  whole.recompute = Recompute::kNone;
  const double layer = SavedBytes(model, whole, sequence);
  std::vector<PlanMemory> stages;
  for (int stage = 0; stage < plan.pp; ++stage) {
    const StageParameters held = ParametersOf(model, plan, stage);
    PlanMemory memory;
    const double frozen_bytes = model.lora_rank > 0 ? BytesOf(FormatOf(plan.precision)) : 0;
    const double trained = held.trained(), split = held.Split(plan.shard_ways(), ExpertReplicas(plan));
    const bool shards = plan.ShardsParameters();
    const bool splits_gradients = shards || plan.shard == Sharding::kZero2;
    const bool splits_state = plan.shard != Sharding::kNone;
    memory.weights = frozen_bytes * held.frozen + state.weight * (shards ? split : trained);
    memory.gradients = state.gradient * (splits_gradients ? split : trained);
    memory.optimizer = state.optimizer * (splits_state ? split : trained);
    memory.in_flight = PassesInFlight(plan, stage, micro_batches);
    const double parts = held.layers / plan.vpp;
    memory.activations = saved * parts * memory.in_flight;
    if (stage == plan.pp - 1)
      memory.logits = LogitBytes(plan) * tokens * std::ceil(model.vocabulary / plan.tp);
    // Logits are gone when the first layer is computed again.
    if (plan.recompute == Recompute::kFull) memory.activations += std::max(0.0, layer - memory.logits);
    if (shards) {
      // Two blocks whole in bf16, one block's gradients in fp32.
      const double block = held.layers > 0 ? (held.dense - held.ends) / held.layers : 0;
      memory.gathered = 2 * (2 * block) + 4 * std::max(block, held.ends / 2);
    }
    // Blocks of 2 MiB; what is freed between larger ones stays in part.
    memory.rounding = 0.01 * (memory.activations + memory.logits + memory.gathered);
    stages.push_back(memory);
  }
  return stages;
}

FullestStage FullestStageOf(const ModelShape& model, const Plan& plan, double global_batch, double sequence) {
  const std::vector<PlanMemory> stages = MemoryByStage(model, plan, global_batch, sequence);
  const auto fullest =
      std::max_element(stages.begin(), stages.end(),
                       [](const PlanMemory& a, const PlanMemory& b) { return a.bytes() < b.bytes(); });
  return {static_cast<int>(fullest - stages.begin()), *fullest};
}

double MissingBytes(const FullestStage& fullest, const PlanMachine& machine) {
  return fullest.memory.bytes() + kOutsideBytes - machine.memory_bytes;
}

}  // namespace lanescope::sims::plans
