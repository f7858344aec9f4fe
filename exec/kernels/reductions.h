// SPDX-License-Identifier: Apache-2.0
// Bodies of reductions on host memory.
#pragma once

#include "exec/kernels/reduction_plan.h"

namespace lanescope::exec {

void FindExtremes(KernelContext& context, const ArgPlan& plan);
void SumRunning(KernelContext& context, const ScanPlan& plan);

}  // namespace lanescope::exec
