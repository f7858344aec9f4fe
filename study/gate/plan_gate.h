// SPDX-License-Identifier: Apache-2.0
// A gate of two plans for a machine: predicted, so that there is no noise, but costs that may be wrong.
#pragma once

#include <string>
#include <vector>

#include "study/gate/gate.h"
#include "study/predict/predictor.h"
#include "study/workload/placing.h"

namespace lanescope::study {

// Both must outlive the gate.
struct Plan {
  std::string name;
  const PlacedGraph* placed = nullptr;
  const Schedule* schedule = nullptr;  // compiled from it
};

// The interval is that of draws of what costs may be off by: of the same op on the same device, and of copies
// between the same two, in both plans alike. Plans that are the same change nothing. Throws Cancelled, and
// NotFound for an op that a plan does not run.
GateResult GatePlans(const Plan& base, const Plan& candidate, const Predictor& predictor,
                     const std::vector<Quantity>& quantities, double budget,
                     const Cancellation* cancellation = nullptr);

}  // namespace lanescope::study
