// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "sims/plans/plan.h"

namespace lanescope::sims::plans {
namespace {

// The number nearest to `part` that divides `whole`; the smaller of two.
double NearestDivisor(double whole, double part) {
  for (double away = 0; away < 1e6; ++away) {
    if (part - away >= 1 && std::fmod(whole, part - away) == 0) return part - away;
    if (part + away <= whole && std::fmod(whole, part + away) == 0) return part + away;
  }
  return 1;
}

// The multiple of `part` that is nearest to `whole`; one of them at least.
double NearestMultiple(double whole, double part) { return std::max(part, std::round(whole / part) * part); }

void Divides(const char* key, double part, double whole, const char* what) {
  if (std::fmod(whole, part) == 0) return;
  Throw(Code::kInvalidArgument, "{}={:.0f} does not divide {:.0f} {}; the nearest that does is {}={:.0f}",
        key, part, whole, what, key, NearestDivisor(whole, part));
}

}  // namespace

void CheckPlan(const Plan& plan, const ModelShape& model, double global_batch, double sequence, double gpus) {
  Divides("tp", plan.tp, model.heads, "heads");
  // Fewer heads of keys and values than GPUs are copied.
  if (plan.tp < model.KvHeads()) Divides("tp", plan.tp, model.KvHeads(), "key and value heads");
  if (!model.IsMixture() || model.dense_layers > 0) Divides("tp", plan.tp, model.ffn, "feed-forward values");
  // First and last stage may have a layer or two less, for the embedding and the loss.
  constexpr double kMostMissing = 3;
  const double here = std::ceil(model.layers / plan.pp), missing = here * plan.pp - model.layers;
  if (missing > kMostMissing || 2 * here <= missing) Divides("pp", plan.pp, model.layers, "layers");
  const double others = static_cast<double>(plan.tp) * plan.pp * plan.cp;
  if (std::fmod(gpus, others) != 0) {
    Throw(Code::kInvalidArgument,
          "tp={} times pp={} and cp={} is {:.0f} GPUs, which do not divide {:.0f}; the nearest that do are "
          "{:.0f}",
          plan.tp, plan.pp, plan.cp, others, gpus, NearestDivisor(gpus, others));
  }
  if (plan.dp * others != gpus) {
    Throw(Code::kInvalidArgument,
          "dp={} times tp={}, pp={} and cp={} is {:.0f} GPUs, not {:.0f}; dp={:.0f} makes them", plan.dp,
          plan.tp, plan.pp, plan.cp, plan.dp * others, gpus, gpus / others);
  }
  if (plan.vpp > 1 && plan.pp == 1)
    Throw(Code::kInvalidArgument, "vpp={} splits the stages of a pipeline, and there is none; give pp",
          plan.vpp);
  Divides("vpp", plan.vpp, here, "layers of a stage");
  if (plan.cp > 1) Divides("cp", 2.0 * plan.cp, sequence, "tokens of a sequence (two parts a rank)");
  if (plan.sp && plan.tp == 1)
    Throw(Code::kInvalidArgument,
          "sp splits tokens over the GPUs of tensor parallelism, and there are none; give tp");
  if (plan.ep > 1 && !model.IsMixture())
    Throw(Code::kInvalidArgument, "ep={} splits experts, and the model has none", plan.ep);
  if (plan.ep > 1) {
    Divides("ep", plan.ep, model.experts, "experts");
    Divides("ep", plan.ep, plan.replicas(), "replicas");
  }
  if (plan.shard == Sharding::kHsdp) {
    if (plan.shard_size == 0)
      Throw(Code::kInvalidArgument, "shard=hsdp splits over some of {} replicas; give shard-size",
            plan.replicas());
    Divides("shard-size", plan.shard_size, plan.replicas(), "replicas");
  } else if (plan.shard_size != 0) {
    Throw(Code::kInvalidArgument, "shard-size={} is for shard=hsdp", plan.shard_size);
  }
  const double at_once = static_cast<double>(plan.micro) * plan.dp;
  if (std::fmod(global_batch, at_once) != 0) {
    Throw(Code::kInvalidArgument,
          "a batch of {:.0f} sequences is no multiple of micro={} times dp={}; the nearest that is one is "
          "{:.0f}",
          global_batch, plan.micro, plan.dp, NearestMultiple(global_batch, at_once));
  }
  if (plan.vpp > 1) {
    const double micro_batches = global_batch / at_once;
    if (std::fmod(micro_batches, plan.pp) != 0) {
      Throw(Code::kInvalidArgument,
            "vpp={} takes micro-batches by {} stages, and {:.0f} of them are no multiple; the nearest batch "
            "that is "
            "one is {:.0f} sequences",
            plan.vpp, plan.pp, micro_batches, NearestMultiple(micro_batches, plan.pp) * at_once);
    }
  }
}

}  // namespace lanescope::sims::plans
