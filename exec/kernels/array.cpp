// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/array_kernels.h"

namespace lanescope::exec {

void RegisterArrayKernels(KernelRegistry& registry) {
  RegisterIdentityKernels(registry);
  RegisterMetadataKernels(registry);
  RegisterGeneratorKernels(registry);
  RegisterConcatKernels(registry);
  RegisterCopyKernels(registry);
  RegisterPadKernels(registry);
  RegisterGatherKernels(registry);
  RegisterTopKKernels(registry);
  RegisterResizeKernels(registry);
  RegisterReverseSequenceKernels(registry);
}

}  // namespace lanescope::exec
