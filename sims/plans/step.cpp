// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/step.h"

#include <algorithm>

#include "sims/plans/pipeline_walk.h"
#include "sims/plans/stage_times.h"

namespace lanescope::sims::plans {
namespace {

void Add(const Work& work, double times, PlanStep* step) {
  step->products += times * work.products;
  step->attention += times * work.attention;
  step->passes += times * work.passes;
  step->exchanges += times * work.exchanges();
}

void Add(const PassTimes& pass, double times, PlanStep* step) {
  Add(pass.again, times, step);
  Add(pass.work, times, step);
  step->launches += times * pass.launches;
  step->shards += times * (pass.gather.exposed + pass.scatter.exposed);
}

// As in a validation step: forward passes of the slowest stage, and the pipeline fills once.
double ForwardSeconds(const PlanTimes& times) {
  double all = 0, longest = 0;
  for (const StageTimes& stage : times.stages) {
    all += stage.forward_seconds();
    longest = std::max(longest, stage.forward_seconds());
  }
  return times.micro_batches * longest + (all - longest) / times.parts;
}

// Messages of the slowest stage: behind every pass but, on the first stage, the last.
double SentSeconds(const PlanTimes& times, const PipelineWalk& walk) {
  double sent = 0;
  for (const WalkedPass& pass : walk.stages[static_cast<size_t>(walk.slowest)].passes) sent += pass.sent;
  return sent + 2 * times.parts * (times.micro_batches - walk.walked) * times.sent();
}

}  // namespace

std::pair<std::string_view, double> PlanStep::largest() const {
  const std::pair<std::string_view, double> parts[] = {
      {"products", products},   {"attention", attention}, {"passes", passes},        {"exchanges", exchanges},
      {"launches", launches},   {"shards", shards},       {"bubble", bubble},        {"messages", messages},
      {"gradients", gradients}, {"update", update},       {"stragglers", stragglers}};
  return *std::max_element(std::begin(parts), std::end(parts),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

PlanStep EstimateStep(const ModelShape& model, const Plan& plan, const PlanMachine& machine,
                      double global_batch, double sequence) {
  const PlanTimes times = TimesOf(model, plan, machine, global_batch, sequence);
  const PipelineWalk walk = WalkPipeline(times);
  const StageTimes& slowest = times.stages[static_cast<size_t>(walk.slowest)];
  PlanStep step;
  for (const PassTimes& pass : slowest.forward) Add(pass, times.micro_batches, &step);
  for (const PassTimes& pass : slowest.backward) Add(pass, times.micro_batches, &step);
  step.forward = ForwardSeconds(times);
  step.messages = SentSeconds(times, walk);
  step.gradients = slowest.gather.exposed + slowest.reduce.exposed;
  step.update = slowest.update;
  // All that is left is waiting for the other stages.
  if (times.stages.size() > 1) step.bubble = std::max(0.0, walk.updated - step.seconds());
  step.stragglers = walk.seconds - walk.updated;
  return step;
}

double StepResidual(const ModelShape& model) { return model.IsMixture() ? 0.4 : 0.14; }

double LowerBoundSeconds(const ModelShape& model, Precision precision, const PlanMachine& machine,
                         double global_batch, double sequence) {
  return FlopsPerToken(model, sequence) * global_batch * sequence /
         (machine.gpus() * machine.kernels.product(FormatOf(precision)).flops);
}

}  // namespace lanescope::sims::plans
