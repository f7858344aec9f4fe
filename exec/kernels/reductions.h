// Parts of RegisterReductionKernels.
#pragma once

#include "exec/kernel.h"

namespace lanescope::exec {

void RegisterArgKernels(KernelRegistry& registry);
void RegisterScanKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
