// SPDX-License-Identifier: Apache-2.0
// The GPUs whose kernels were measured, with the laws fitted to them.
#pragma once

#include <vector>

#include "core/machine/gpu_facts.h"
#include "sims/plans/kernels.h"

namespace lanescope::sims::plans {

// Throws NotFound, with the GPUs that are known, for others.
KernelLaws KernelLawsOf(const GpuFacts& gpu);
// The GPUs that have laws.
std::vector<const GpuFacts*> PlanGpus();

}  // namespace lanescope::sims::plans
