// Parts of RegisterNnKernels.
#pragma once

#include "exec/kernel.h"

namespace lanescope::exec {

void RegisterBatchNormKernels(KernelRegistry& registry);
void RegisterBiasKernels(KernelRegistry& registry);
void RegisterPoolingKernels(KernelRegistry& registry);
void RegisterSoftmaxKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
