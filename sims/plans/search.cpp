// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/search.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/base/units.h"
#include "sims/plans/formats.h"

namespace lanescope::sims::plans {
namespace {

std::vector<int> DivisorsOf(double whole, double most) {
  std::vector<int> divisors;
  for (int part = 1; part <= std::min(whole, most); ++part) {
    if (std::fmod(whole, part) == 0) divisors.push_back(part);
  }
  return divisors;
}

class Finder {
 public:
  Finder(const ModelShape& model, const PlanMachine& machine, const PlanSearch& search)
      : model_(model), machine_(machine), search_(search) {}

  FoundPlans Find() {
    for (const int tp : DivisorsOf(machine_.gpus(), std::min(machine_.cluster.gpus_per_node, 16))) {
      for (const int pp : DivisorsOf(machine_.gpus() / tp, model_.layers + 2)) {
        for (const int cp : DivisorsOf(machine_.gpus() / tp / pp, 64)) AddMesh(tp, pp, cp);
      }
    }
    std::stable_sort(
        found_.fitting.begin(), found_.fitting.end(),
        [](const FoundPlan& a, const FoundPlan& b) { return a.step.seconds() < b.step.seconds(); });
    return std::move(found_);
  }

 private:
  void AddMesh(int tp, int pp, int cp) {
    // Rings over less than 4,096 tokens a rank lose more than they save.
    if (cp > 1 && search_.sequence / cp < 4096) return;
    Plan plan;
    plan.tp = tp;
    plan.pp = pp;
    plan.cp = cp;
    plan.dp = machine_.gpus() / tp / pp / cp;
    plan.sp = tp > 1;
    plan.precision = search_.precision;
    plan.kernels = search_.kernels;
    plan.loss = search_.loss;
    plan.graphs = search_.graphs;
    if (std::fmod(search_.global_batch, plan.dp) != 0) return;
    const double here = std::ceil(model_.layers / pp);
    const std::vector<int> chunks = pp == 1 ? std::vector<int>{1} : DivisorsOf(here, here);
    const std::vector<int> experts =
        model_.IsMixture() ? DivisorsOf(plan.replicas(), model_.experts) : std::vector<int>{1};
    for (const int ep : experts) {
      for (const int vpp : chunks) {
        for (const int micro : DivisorsOf(search_.global_batch / plan.dp, search_.largest_micro)) {
          plan.ep = ep;
          plan.vpp = vpp;
          plan.micro = micro;
          AddShardings(plan);
        }
      }
    }
  }

  void AddShardings(Plan plan) {
    try {
      CheckPlan(plan, model_, search_.global_batch, search_.sequence, machine_.gpus());
    } catch (const Error&) {
      return;
    }
    StopPoint();
    Add(plan);
    if (plan.replicas() == 1) return;
    for (const Sharding sharding : {Sharding::kZero1, Sharding::kFsdp2}) {
      // A pipeline would gather every parameter once a micro-batch.
      if (sharding == Sharding::kFsdp2 && plan.pp > 1) continue;
      plan.shard = sharding;
      Add(plan);
    }
    const int island = machine_.cluster.gpus_per_node / plan.tp;
    if (plan.pp > 1 || plan.replicas() <= island || island < 2 || plan.replicas() % island != 0) return;
    plan.shard = Sharding::kHsdp;
    plan.shard_size = island;
    Add(plan);
  }

  void Add(Plan plan) {
    for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
      plan.recompute = recompute;
      ++found_.tried;
      const FullestStage fullest = FullestStageOf(model_, plan, search_.global_batch, search_.sequence);
      const double missing = MissingBytes(fullest, machine_);
      if (missing <= 0) {
        found_.fitting.push_back(
            {plan, EstimateStep(model_, plan, machine_, search_.global_batch, search_.sequence), fullest});
        return;
      }
      if (found_.least_missing == 0 || missing < found_.least_missing) {
        found_.least_missing = missing;
        found_.least = {plan, {}, fullest};
      }
    }
  }

  const ModelShape& model_;
  const PlanMachine& machine_;
  const PlanSearch& search_;
  FoundPlans found_;
};

}  // namespace

FoundPlans SearchPlans(const ModelShape& model, const PlanMachine& machine, const PlanSearch& search) {
  CheckPrecision(machine, search.precision);
  CheckBatch(search.global_batch, search.sequence);
  FoundPlans found = Finder(model, machine, search).Find();
  if (found.tried == 0) {
    Throw(Code::kInvalidArgument,
          "no plan over {} GPUs divides {:.0f} layers, {:.0f} heads and a batch of {:.0f} sequences; a "
          "batch that "
          "is a multiple of the GPUs always does",
          machine.gpus(), model.layers, model.heads, search.global_batch);
  }
  if (found.fitting.empty()) {
    Throw(Code::kResourceExhausted,
          "no plan of {} fits {} GPUs of {}; {} takes the least, and {} more than a GPU has ({} of it "
          "{}); take "
          "more GPUs or a smaller batch",
          found.tried, machine.gpus(), FormatBytes(static_cast<int64_t>(machine.memory_bytes)),
          PlanText(found.least.plan),
          FormatBytes(static_cast<int64_t>(std::min(found.least_missing, 0x1p62))),
          FormatBytes(static_cast<int64_t>(std::min(found.least.fullest.memory.largest().second, 0x1p62))),
          found.least.fullest.memory.largest().first);
  }
  return found;
}

}  // namespace lanescope::sims::plans
