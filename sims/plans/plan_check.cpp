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

bool Divides(double part, double whole) { return std::fmod(whole, part) == 0; }

// Refuses a number that does not divide, and names the nearest that divides all that it has to (`fits`).
template <typename Fits>
void Require(const char* key, double part, double whole, const char* what, const Fits& fits) {
  if (Divides(part, whole)) return;
  double nearest = 1;
  for (double away = 0; away < 1e6; ++away) {
    if (part - away >= 1 && fits(part - away)) {
      nearest = part - away;
      break;
    }
    if (part + away <= whole && fits(part + away)) {
      nearest = part + away;
      break;
    }
  }
  Throw(Code::kInvalidArgument, "{}={:.0f} does not divide {:.0f} {}; the nearest that does is {}={:.0f}",
        key, part, whole, what, key, nearest);
}

// First and last stage may have a layer or two less, for the embedding and the loss.
bool LayersFit(double pp, double layers) {
  constexpr double kMostMissing = 3;
  const double here = std::ceil(layers / pp), missing = here * pp - layers;
  return missing <= kMostMissing && 2 * here > missing;
}

void CheckTensorParallel(const Plan& plan, const ModelShape& model, double gpus) {
  const bool has_ffn = !model.IsMixture() || model.dense_layers > 0;
  // Fewer heads of keys and values than GPUs are copied.
  const auto fits_model = [&](double tp) {
    return Divides(tp, model.heads) && (tp >= model.KvHeads() || Divides(tp, model.KvHeads())) &&
           (!has_ffn || Divides(tp, model.ffn));
  };
  // The number of GPUs may itself be what fits nothing.
  bool shares_gpus = false;
  for (double tp = 2; tp <= std::min(model.heads, gpus); ++tp)
    shares_gpus = shares_gpus || (fits_model(tp) && Divides(tp, gpus));
  const auto fits = [&](double tp) { return fits_model(tp) && (!shares_gpus || Divides(tp, gpus)); };
  Require("tp", plan.tp, model.heads, "heads", fits);
  if (plan.tp < model.KvHeads()) Require("tp", plan.tp, model.KvHeads(), "key and value heads", fits);
  if (has_ffn) Require("tp", plan.tp, model.ffn, "feed-forward values", fits);
}

}  // namespace

void CheckBatch(double global_batch, double sequence) {
  constexpr double kMostSequences = 1e7, kMostTokens = 1e8;
  const auto check = [](double number, double most, const char* what) {
    if (number >= 1 && number <= most && number == std::round(number)) return;
    Throw(Code::kInvalidArgument, "{} has a whole number from 1 to {:.0f}, not {:.15g}", what, most, number);
  };
  check(global_batch, kMostSequences, "a batch of sequences");
  check(sequence, kMostTokens, "a sequence of tokens");
}

void CheckPlan(const Plan& plan, const ModelShape& model, double global_batch, double sequence, double gpus) {
  CheckBatch(global_batch, sequence);
  CheckTensorParallel(plan, model, gpus);
  if (!LayersFit(plan.pp, model.layers)) {
    Require("pp", plan.pp, model.layers, "layers",
            [&](double pp) { return LayersFit(pp, model.layers) && Divides(pp * plan.tp, gpus); });
  }
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
  const double here = std::ceil(model.layers / plan.pp);
  Require("vpp", plan.vpp, here, "layers of a stage", [&](double vpp) { return Divides(vpp, here); });
  if (plan.cp > 1 && !Divides(2.0 * plan.cp, sequence)) {
    double cp = plan.cp;
    while (cp > 1 && !Divides(2 * cp, sequence)) --cp;
    Throw(Code::kInvalidArgument,
          "cp={} cuts a sequence into {} parts, which do not divide {:.0f} tokens; the next smaller that "
          "does is "
          "cp={:.0f}",
          plan.cp, 2 * plan.cp, sequence, cp);
  }
  if (plan.sp && plan.tp == 1)
    Throw(Code::kInvalidArgument,
          "sp splits tokens over the GPUs of tensor parallelism, and there are none; give tp");
  if (plan.ep > 1 && !model.IsMixture())
    Throw(Code::kInvalidArgument, "ep={} splits experts, and the model has none", plan.ep);
  if (plan.ep > 1) {
    const auto fits = [&](double ep) { return Divides(ep, model.experts) && Divides(ep, plan.replicas()); };
    Require("ep", plan.ep, model.experts, "experts", fits);
    Require("ep", plan.ep, plan.replicas(), "replicas", fits);
  }
  if (plan.shard == Sharding::kHsdp) {
    if (plan.shard_size == 0)
      Throw(Code::kInvalidArgument, "shard=hsdp splits over some of {} replicas; give shard-size",
            plan.replicas());
    Require("shard-size", plan.shard_size, plan.replicas(), "replicas",
            [&](double size) { return Divides(size, plan.replicas()); });
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
