// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/element_wise.h"

namespace lanescope::exec {

void RegisterMathKernels(KernelRegistry& registry) {
  RegisterUnaryKernels(registry);
  RegisterBinaryKernels(registry);
  RegisterCompareKernels(registry);
  RegisterSelectKernels(registry);
  RegisterCastKernels(registry);
  RegisterAddNKernels(registry);
  RegisterWireKernels(registry);
}

}  // namespace lanescope::exec
