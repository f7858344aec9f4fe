// SPDX-License-Identifier: Apache-2.0
// Number formats that a machine's GPUs can compute in.
#pragma once

#include "sims/plans/machine.h"
#include "sims/plans/plan.h"

namespace lanescope::sims::plans {

bool HasProducts(const PlanMachine& machine, Precision precision);
// Throws InvalidArgument, with the formats that the GPUs have, where they lack this one.
void CheckPrecision(const PlanMachine& machine, Precision precision);
// As above for all formats of a plan, of products and of attention.
void CheckFormats(const PlanMachine& machine, const Plan& plan);

}  // namespace lanescope::sims::plans
