// SPDX-License-Identifier: Apache-2.0
#include "study/compare/plan_trial.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/graph/op.h"
#include "study/base/cancellation.h"
#include "study/measure/recorded_run.h"
#include "study/workload/placing.h"

namespace lanescope::study {
namespace {

using sims::plans::Plan;
using sims::plans::Sharding;

constexpr int kMostDevices = 16;
constexpr int kWarmup = 1;

std::string OfReplicas(const Plan& plan) {
  switch (plan.shard) {
    case Sharding::kNone:
      break;
    case Sharding::kZero1:
      return "zero1";
    case Sharding::kZero2:
      return "zero2";
    case Sharding::kZero3:
    case Sharding::kFsdp2:
      return "fsdp";
    case Sharding::kHsdp:
      if (plan.shard_ways() == plan.dp) return "fsdp";
      if (plan.shard_ways() > 1) return fmt::format("data-parallel+fsdp:{}", plan.shard_ways());
  }
  return "data-parallel";
}

// Parts are of the replicas of one place, not of the GPUs that split sequences as well.
bool ShardsWithinReplicas(const Plan& plan) {
  if (plan.shard == Sharding::kNone) return true;
  if (plan.shard == Sharding::kHsdp) return plan.dp % plan.shard_ways() == 0;
  return plan.dp > 1;
}

// Experts are split within replicas, which share no more than those.
StrategyOfPlan OfExperts(const Plan& plan) {
  if (plan.tp > 1 || plan.pp > 1) return {"", "no strategy splits experts (ep) beside matrices or layers"};
  if (plan.shard != Sharding::kNone)
    return {"",
            fmt::format("no strategy splits experts (ep) and shards as {} does", ShardingName(plan.shard))};
  if (plan.ep == plan.dp) return {"expert-parallel", ""};
  return {fmt::format("data-parallel+expert-parallel:{}", plan.ep), ""};
}

// An op that nothing is known of but its cost; null: there is none.
const Node* FindOpWithoutKernel(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.FindAttr("_lanescope_cost") != nullptr && OpRegistry::Global().Find(node.op) == nullptr)
      return &node;
  }
  return nullptr;
}

struct Trained {
  double step_ns = 0, loss = 0;
};

Trained Train(const Workload& workload, const std::string& strategy, int devices, int steps,
              Cancellation* cancellation) {
  const Machine machine = VirtualMachine(devices, 1);
  RecordedRunOptions options;
  options.cancellation = cancellation;
  RecordedRun run(Place(workload, strategy, machine, RooflineCost()), machine, nullptr, options);
  run.RunToEnd(kWarmup, steps);
  const std::vector<int64_t> times = run.StepTimes();
  Trained trained{.step_ns = Median(std::vector<double>(times.begin(), times.end())), .loss = 0};
  const std::vector<Tensor>& fetched = run.last_fetches();
  if (!fetched.empty() && fetched[0].dtype() == DataType::kFloat && fetched[0].NumElements() == 1)
    trained.loss = static_cast<double>(*fetched[0].data<float>());
  return trained;
}

}  // namespace

StrategyOfPlan FindStrategyOf(const Plan& plan) {
  using sims::plans::Recompute;
  const std::string again = plan.recompute == Recompute::kFull        ? "recompute"
                            : plan.recompute == Recompute::kSelective ? "recompute-selective"
                                                                      : "";
  if (plan.gpus() == 1) return {again.empty() ? "single" : again, ""};
  if (plan.cp > 1 && plan.ep > 1) return {"", "no strategy splits both experts (ep) and sequences (cp)"};
  if (plan.cp > 1 && !ShardsWithinReplicas(plan))
    return {"", fmt::format("no strategy shards as {} does over GPUs that split sequences (cp)",
                            ShardingName(plan.shard))};
  // Outer factors first: replicas of stages of GPUs that share tokens, and those matrices.
  if (plan.ep > 1) {
    StrategyOfPlan how = OfExperts(plan);
    if (!again.empty() && !how.strategy.empty()) how.strategy = again + "+" + how.strategy;
    return how;
  }
  StrategyOfPlan how{plan.dp > 1 ? OfReplicas(plan) : "", ""};
  if (plan.pp > 1 && plan.dp > 1 && how.strategy != "data-parallel")
    return {"", "no strategy shards the stages of a pipeline"};
  const auto add = [&](const std::string& name, int gpus) {
    if (gpus > 1) how.strategy += how.strategy.empty() ? name : fmt::format("+{}:{}", name, gpus);
  };
  add(plan.vpp > 1 ? fmt::format("pipeline-interleaved-{}", plan.vpp) : "pipeline", plan.pp);
  add("ring-attention", plan.cp);
  add(plan.sp ? "sequence-parallel" : "tensor-parallel", plan.tp);
  if (!again.empty()) how.strategy = again + "+" + how.strategy;
  return how;
}

PlanTrial TryPlan(const Plan& plan, const std::string& graph, int steps, Cancellation* cancellation) {
  PlanTrial trial{.how = FindStrategyOf(plan), .devices = static_cast<int>(plan.gpus())};
  const auto refuse = [&](std::string why) {
    trial.how = {"", std::move(why)};
    return trial;
  };
  std::error_code unknown;
  if (graph.ends_with(".json") || !std::filesystem::exists(graph, unknown))
    return refuse("a shape alone does not run: give the model's graph");
  if (trial.how.strategy.empty()) return trial;
  if (plan.gpus() > kMostDevices)
    return refuse(
        fmt::format("{} devices are more than the {} that are played here", plan.gpus(), kMostDevices));
  const Workload workload(graph);
  if (const Node* odd = FindOpWithoutKernel(workload.graph()))
    return refuse(fmt::format(
        "the graph does not run: its {} is known by cost alone, as in an export from `meta`; export a "
        "smaller model with its values",
        odd->op));
  if (workload.spec().loss.empty() || workload.spec().fetches.empty())
    return refuse("the graph has no loss to compare");
  try {
    const Trained whole = Train(workload, "single", 1, steps, cancellation),
                  parts = Train(workload, trial.how.strategy, trial.devices, steps, cancellation);
    trial.step_ns = parts.step_ns;
    trial.loss = parts.loss;
    trial.whole = whole.loss;
  } catch (const Error& error) {
    if (error.code() == Code::kResourceExhausted)
      return refuse("the model is too large for this computer: " + error.message());
    if (error.code() != Code::kInvalidArgument) throw;
    return refuse(error.message());
  }
  return trial;
}

}  // namespace lanescope::study
