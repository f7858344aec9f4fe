// SPDX-License-Identifier: Apache-2.0
// The parameters that a GPU of a stage holds under a plan.
#pragma once

#include "sims/plans/model_shape.h"
#include "sims/plans/plan.h"

namespace lanescope::sims::plans {

struct StageParameters {
  double layers = 0;   // of the stage
  double dense = 0;    // trained, but for routed experts; embedding and output layer among them
  double experts = 0;  // trained, of routed experts
  double ends = 0;     // of `dense`: embedding and output layer
  double frozen = 0;   // where adapters alone are trained
  double trained() const { return dense + experts; }
  // A replica's share of them where `dense_ways` and `expert_ways` replicas split them.
  double Split(double dense_ways, double expert_ways) const {
    return dense / dense_ways + experts / expert_ways;
  }
};

// Layers of a stage. Where they do not divide, first and last stage have fewer.
double StageLayers(const ModelShape& model, const Plan& plan, int stage);
StageParameters ParametersOf(const ModelShape& model, const Plan& plan, int stage);
// Parameters of one layer, on average over dense layers and those with experts: on one GPU, whole.
double LayerParametersOf(const ModelShape& model, const Plan& plan);
// GPUs that hold the same experts.
double ExpertReplicas(const Plan& plan);

}  // namespace lanescope::sims::plans
