// Parts of RegisterLinearKernels.
#pragma once

#include "exec/kernel.h"

namespace lanescope::exec {

void RegisterMatMulKernels(KernelRegistry& registry);
void RegisterConvolutionKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
