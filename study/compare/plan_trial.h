// SPDX-License-Identifier: Apache-2.0
// Plans of parallelism run here, on virtual devices.
#pragma once

#include <string>

#include "sims/plans/plan.h"

namespace lanescope::study {

class Cancellation;

// The graph strategy that does what a plan says.
struct StrategyOfPlan {
  std::string strategy;  // empty: none does, and
  std::string why_not;   // says which part of the plan no strategy has
};
StrategyOfPlan FindStrategyOf(const sims::plans::Plan& plan);

struct PlanTrial {
  StrategyOfPlan how;          // without a strategy nothing ran
  int devices = 0;             // virtual ones, of one thread each
  double step_ns = 0;          // measured here, the median
  double loss = 0, whole = 0;  // after the steps: in parts, and on one device
};

// Trains the graph of a file by the plan and on one device. `why_not` says also what of the graph stands in
// the way. Throws what Workload throws, Cancelled.
PlanTrial TryPlan(const sims::plans::Plan& plan, const std::string& graph, int steps,
                  Cancellation* cancellation);

}  // namespace lanescope::study
