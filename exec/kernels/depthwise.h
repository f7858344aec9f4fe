// SPDX-License-Identifier: Apache-2.0
// The linear family's files for depthwise convolution, Einsum, Qr and triangular matrices.
#pragma once

#include "exec/device/kernel.h"

namespace lanescope::exec {

void RegisterDepthwiseKernels(KernelRegistry& registry);
void RegisterEinsumKernels(KernelRegistry& registry);
void RegisterQrKernels(KernelRegistry& registry);
void RegisterTriangularKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
