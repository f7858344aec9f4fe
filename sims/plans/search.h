// SPDX-License-Identifier: Apache-2.0
// The best plan for a model on a machine: every mesh, sharding, micro-batch and recomputation that fits.
#pragma once

#include <cstddef>
#include <vector>

#include "sims/plans/layer.h"
#include "sims/plans/memory.h"
#include "sims/plans/step.h"

namespace lanescope::sims::plans {

struct PlanSearch {
  double global_batch = 0, sequence = 0;
  Precision precision = Precision::kBf16;
  Kernels kernels = Kernels::kCompiled;
  Loss loss = Loss::kPlain;
  bool graphs = false;
  double largest_micro = 16;
};

struct FoundPlan {
  Plan plan;
  PlanStep step;
  FullestStage fullest;
};
struct FoundPlans {
  std::vector<FoundPlan> fitting;  // best first
  size_t tried = 0;                // memory of all of them was looked at
  FoundPlan least;                 // of those that do not fit, the one that misses by the least
  double least_missing = 0;        // bytes; 0: all fit
};

// Tensor groups lie within an island. Sequence parallelism goes with tensor parallelism; a plan is looked at
// without recomputation, then with it by operation and whole, until it fits. Throws InvalidArgument where
// nothing divides, ResourceExhausted, with the plan that misses by the least, where nothing fits.
FoundPlans SearchPlans(const ModelShape& model, const PlanMachine& machine, const PlanSearch& search);

}  // namespace lanescope::sims::plans
