// SPDX-License-Identifier: Apache-2.0
// Parts of RegisterLinearKernels.
#pragma once

#include "exec/device/kernel.h"

namespace lanescope::exec {

void RegisterMatMulKernels(KernelRegistry& registry);
void RegisterConvolutionKernels(KernelRegistry& registry);
void RegisterVolumeConvolutionKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
