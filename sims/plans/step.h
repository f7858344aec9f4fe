// SPDX-License-Identifier: Apache-2.0
// The time of a training step under a plan.
#pragma once

#include <string_view>
#include <utility>

#include "sims/plans/machine.h"
#include "sims/plans/model_shape.h"
#include "sims/plans/plan.h"

namespace lanescope::sims::plans {

// Parts of a step on a GPU of the slowest stage, in seconds. All parts but `forward` add up to the step.
struct PlanStep {
  double products = 0, attention = 0, passes = 0;  // kernels: matrix products, attention, memory-bound
  double exchanges = 0;   // of tensor, context and expert parallelism that nothing hides
  double launches = 0;    // what the host takes longer than the kernels
  double shards = 0;      // gathers and scatters of sharded parameters, and their copies
  double bubble = 0;      // waiting for other stages
  double messages = 0;    // between stages
  double gradients = 0;   // reductions over replicas and gathers of parameters
  double update = 0;      // the optimizer
  double stragglers = 0;  // waiting for the last of many nodes
  double forward = 0;     // the forward passes alone, as in a validation step
  double seconds() const {
    return products + attention + passes + exchanges + launches + shards + bubble + messages + gradients +
           update + stragglers;
  }
  // The largest part.
  std::pair<std::string_view, double> largest() const;
};

// Nine of ten published steps lie within this share of the prediction, of mixtures of experts within 40%
// (docs/results/plans.md).
double StepResidual(const ModelShape& model);

// `plan` divides all (CheckPlan). Pipelines go one forward, one backward, interleaved where vpp > 1, pass by
// pass as the timeline of the plan shows them (sims/plans/timeline.h).
PlanStep EstimateStep(const ModelShape& model, const Plan& plan, const PlanMachine& machine,
                      double global_batch, double sequence);

// The model's arithmetic at the data sheet's peak of all GPUs, for the plan's format.
double LowerBoundSeconds(const ModelShape& model, Precision precision, const PlanMachine& machine,
                         double global_batch, double sequence);

}  // namespace lanescope::sims::plans
