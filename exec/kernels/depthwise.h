// The linear family's files for depthwise convolution, Einsum and Qr.
#pragma once

#include "exec/kernel.h"

namespace lanescope::exec {

void RegisterDepthwiseKernels(KernelRegistry& registry);
void RegisterEinsumKernels(KernelRegistry& registry);
void RegisterQrKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
