// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/launch.cuh"

namespace lanescope::exec::cuda {

Launch& LaunchOf(const KernelContext& context) { return Launch::Of(context); }

void* StagingOf(const KernelContext& context, int64_t bytes) {
  return Launch::Of(context).Staging(context, bytes);
}

void* ScratchOf(const KernelContext& context, int64_t bytes) { return Launch::Of(context).Scratch(bytes); }

void RegisterCudaKernels(KernelRegistry& registry) {
  RegisterElementWiseOps(registry);
  RegisterReductionOps(registry);
  RegisterLinearOps(registry);
  RegisterProductOps(registry);
  RegisterNnOps(registry);
  RegisterBatchNormOps(registry);
  RegisterVolumeOps(registry);
  RegisterImageOps(registry);
  RegisterArrayOps(registry);
  RegisterLayoutOps(registry);
  RegisterSparseOps(registry);
  RegisterStateOps(registry);
  RegisterOptimizerOps(registry);
  RegisterRandomOps(registry);
}

}  // namespace lanescope::exec::cuda
