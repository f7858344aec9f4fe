// The linear family's files for depthwise convolution and Einsum.
#pragma once

#include "exec/kernel.h"

namespace lanescope::exec {

void RegisterDepthwiseKernels(KernelRegistry& registry);
void RegisterEinsumKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
