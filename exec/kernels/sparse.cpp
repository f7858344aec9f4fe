// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/sparse_kernels.h"

namespace lanescope::exec {

void RegisterSparseKernels(KernelRegistry& registry) {
  RegisterUniqueKernels(registry);
  RegisterSegmentKernels(registry);
  RegisterPartitionKernels(registry);
  RegisterScatterNdKernels(registry);
  RegisterSparseToDenseKernels(registry);
}

}  // namespace lanescope::exec
