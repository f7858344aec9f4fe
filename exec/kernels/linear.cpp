// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/linear.h"

#include "exec/kernels/depthwise.h"

namespace lanescope::exec {

void RegisterLinearKernels(KernelRegistry& registry) {
  RegisterMatMulKernels(registry);
  RegisterConvolutionKernels(registry);
  RegisterDepthwiseKernels(registry);
  RegisterVolumeConvolutionKernels(registry);
  RegisterEinsumKernels(registry);
  RegisterQrKernels(registry);
  RegisterTriangularKernels(registry);
}

}  // namespace lanescope::exec
