// SPDX-License-Identifier: Apache-2.0
// Answers about plans as JSON texts, for the command line and Python.
#pragma once

#include <string>

#include "sims/plans/pytorch_text.h"
#include "sims/plans/search.h"

namespace lanescope::sims::plans {

// {"plan", "step_ns": {"value", "low", "high"}, "parts_ns": {...}, "bound_by", "tokens_per_s_gpu", "memory":
// {...}, "fits", "lower_bound_ns"}. The plan is checked.
std::string PlanReport(const ModelShape& model, const Plan& plan, const PlanMachine& machine,
                       double global_batch, double sequence);
// {"best", "plans": the best ten as above, "tried", "fitting", "plans_per_s", "lower_bound_ns", "launch":
// texts}. `modules`: for the best plan.
std::string SearchReport(const ModelShape& model, const PlanMachine& machine, const PlanSearch& search,
                         const FoundPlans& found, double seconds, const TorchModules& modules);

inline constexpr size_t kShownPlans = 10;

}  // namespace lanescope::sims::plans
