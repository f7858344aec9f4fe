// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sims/plans/launch_text.h"

namespace lanescope::sims::plans {
namespace {

using nlohmann::json;

int64_t Ns(double seconds) { return static_cast<int64_t>(std::min(seconds * 1e9, 0x1p62)); }
int64_t Bytes(double bytes) { return static_cast<int64_t>(std::min(bytes, 0x1p62)); }

json StepJson(const PlanStep& step) {
  return {{"products", Ns(step.products)},    {"attention", Ns(step.attention)},
          {"passes", Ns(step.passes)},        {"exchanges", Ns(step.exchanges)},
          {"launches", Ns(step.launches)},    {"shards", Ns(step.shards)},
          {"bubble", Ns(step.bubble)},        {"messages", Ns(step.messages)},
          {"gradients", Ns(step.gradients)},  {"update", Ns(step.update)},
          {"stragglers", Ns(step.stragglers)}};
}

json MemoryJson(const PlanMemory& memory) {
  return {{"bytes", Bytes(memory.bytes())},
          {"weights", Bytes(memory.weights)},
          {"gradients", Bytes(memory.gradients)},
          {"optimizer", Bytes(memory.optimizer)},
          {"activations", Bytes(memory.activations)},
          {"logits", Bytes(memory.logits)},
          {"gathered", Bytes(memory.gathered)},
          {"rounding", Bytes(memory.rounding)},
          {"in_flight", memory.in_flight},
          {"largest", memory.largest().first}};
}

json FoundJson(const ModelShape& model, const FoundPlan& found, const PlanMachine& machine,
               double global_batch, double sequence) {
  const double seconds = found.step.seconds(), residual = StepResidual(model);
  const double missing = MissingBytes(found.fullest, machine);
  json memory = MemoryJson(found.fullest.memory);
  memory["stage"] = found.fullest.stage;
  return {{"plan", PlanText(found.plan)},
          {"step_ns",
           {{"value", Ns(seconds)},
            {"low", Ns(seconds * (1 - residual))},
            {"high", Ns(seconds * (1 + residual))}}},
          {"parts_ns", StepJson(found.step)},
          {"bound_by", found.step.largest().first},
          {"tokens_per_s_gpu", global_batch * sequence / seconds / machine.gpus()},
          {"memory", std::move(memory)},
          {"fits", missing <= 0},
          {"missing_bytes", Bytes(std::max(0.0, missing))}};
}

}  // namespace

std::string PlanReport(const ModelShape& model, const Plan& plan, const PlanMachine& machine,
                       double global_batch, double sequence) {
  const FoundPlan one{plan, EstimateStep(model, plan, machine, global_batch, sequence),
                      FullestStageOf(model, plan, global_batch, sequence)};
  json result = FoundJson(model, one, machine, global_batch, sequence);
  result["model"] = model.name;
  result["machine"] = machine.name;
  result["parameters"] = Parameters(model);
  result["causal"] = model.causal;
  json stages = json::array();
  for (const PlanMemory& memory : MemoryByStage(model, plan, global_batch, sequence))
    stages.push_back(MemoryJson(memory));
  result["stages"] = std::move(stages);
  result["lower_bound_ns"] = Ns(LowerBoundSeconds(model, plan.precision, machine, global_batch, sequence));
  return result.dump();
}

std::string SearchReport(const ModelShape& model, const PlanMachine& machine, const PlanSearch& search,
                         const FoundPlans& found, double seconds, const TorchModules& modules) {
  json plans = json::array();
  for (size_t i = 0; i < std::min(kShownPlans, found.fitting.size()); ++i)
    plans.push_back(FoundJson(model, found.fitting[i], machine, search.global_batch, search.sequence));
  const Plan& best = found.fitting.front().plan;
  json result = {{"best", plans.front()},
                 {"plans", plans},
                 {"tried", found.tried},
                 {"fitting", found.fitting.size()},
                 {"plans_per_s", static_cast<double>(found.tried) / seconds},
                 {"model", model.name},
                 {"machine", machine.name},
                 {"parameters", Parameters(model)},
                 {"causal", model.causal},
                 {"lower_bound_ns", Ns(LowerBoundSeconds(model, search.precision, machine,
                                                         search.global_batch, search.sequence))}};
  result["launch"] = {{"torchtitan", TorchtitanText(best, model, search.global_batch, search.sequence)},
                      {"megatron", MegatronText(best, model, search.global_batch, search.sequence)},
                      {"pytorch", PyTorchText(best, modules, search.global_batch / (best.micro * best.dp))}};
  return result.dump();
}

}  // namespace lanescope::sims::plans
