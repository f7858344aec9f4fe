// SPDX-License-Identifier: Apache-2.0
// The entry of the module.
#include "exec/cuda/cuda_module.h"
#include "exec/cuda/module/module.cuh"

namespace lanescope::exec::cuda {
namespace {

class RealModule : public CudaModule {
 public:
  RealModule() : api_(MakeApi()) { RegisterCudaKernels(kernels_); }
  Api& api() override { return *api_; }
  const KernelRegistry& kernels() override { return kernels_; }

 private:
  std::unique_ptr<Api> api_;
  KernelRegistry kernels_;
};

}  // namespace
}  // namespace lanescope::exec::cuda

extern "C" __attribute__((visibility("default"))) lanescope::exec::cuda::CudaModule* lanescope_cuda_module(
    int version) {
  if (version != lanescope::exec::cuda::kCudaModuleVersion) return nullptr;
  static auto* module = new lanescope::exec::cuda::RealModule();  // lives as long as the process
  return module;
}
