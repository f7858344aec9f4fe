// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/parameters.h"

#include <algorithm>
#include <cmath>

namespace lanescope::sims::plans {
namespace {

double DenseOfLayer(const ModelShape& model, const Plan& plan) {
  const double share = model.MoeLayers() / model.layers;
  return (AttentionParameters(model) + (1 - share) * FeedForwardParameters(model, model.ffn) +
          share * FeedForwardParameters(model, model.shared_ffn)) /
             plan.tp +
         share * model.experts * model.hidden;
}

double ExpertsOfLayer(const ModelShape& model, const Plan& plan) {
  const double share = model.MoeLayers() / model.layers;
  return share * model.experts / plan.ep * FeedForwardParameters(model, model.expert_ffn);
}

}  // namespace

double StageLayers(const ModelShape& model, const Plan& plan, int stage) {
  const double most = std::ceil(model.layers / plan.pp), missing = most * plan.pp - model.layers;
  if (stage != 0 && stage != plan.pp - 1) return most;
  const double of_last = std::min(most, std::ceil(missing / 2));
  return std::max(0.0, most - (stage == 0 ? missing - of_last : of_last));
}

double LayerParametersOf(const ModelShape& model, const Plan& plan) {
  return DenseOfLayer(model, plan) + ExpertsOfLayer(model, plan);
}

double ExpertReplicas(const Plan& plan) {
  return std::max(1.0, static_cast<double>(plan.replicas()) / plan.ep);
}

StageParameters ParametersOf(const ModelShape& model, const Plan& plan, int stage) {
  StageParameters held;
  held.layers = StageLayers(model, plan, stage);
  const double matrix = model.vocabulary * model.hidden / plan.tp;
  const bool first = stage == 0, last = stage == plan.pp - 1;
  held.ends = matrix * ((first ? 1 : 0) + (last && !(first && model.tied) ? 1 : 0));
  held.dense = held.layers * DenseOfLayer(model, plan) + held.ends;
  held.experts = held.layers * ExpertsOfLayer(model, plan);
  if (model.lora_rank > 0) {
    held.frozen = held.trained();
    held.experts = held.ends = 0;
    held.dense = TrainedParameters(model) * held.layers / model.layers / plan.tp;
  }
  return held;
}

}  // namespace lanescope::sims::plans
