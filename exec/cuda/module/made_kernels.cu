// SPDX-License-Identifier: Apache-2.0
// Kernels made at run time. The driver's functions are looked up through the runtime, so that the module does
// not link to the driver.
#include <cuda.h>

#include <string>

#include "core/base/error.h"
#include "exec/cuda/module/module.cuh"

namespace lanescope::exec::cuda {
namespace {

struct ModuleCalls {
  decltype(&cuModuleLoadData) load = nullptr;
  decltype(&cuModuleUnload) unload = nullptr;
  decltype(&cuModuleGetFunction) get_function = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;
};

template <typename Function>
void FindCall(const char* name, Function* function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  Check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result),
        "cudaGetDriverEntryPointByVersion");
#else
  Check(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result), "cudaGetDriverEntryPoint");
#endif
  if (result != cudaDriverEntryPointSuccess || found == nullptr)
    throw Error(Code::kFailedPrecondition, std::string("the NVIDIA driver has no ") + name);
  *function = reinterpret_cast<Function>(found);
}

const ModuleCalls& GetCalls() {
  static const ModuleCalls calls = [] {
    ModuleCalls found;
    FindCall("cuModuleLoadData", &found.load);
    FindCall("cuModuleUnload", &found.unload);
    FindCall("cuModuleGetFunction", &found.get_function);
    FindCall("cuLaunchKernel", &found.launch);
    return found;
  }();
  return calls;
}

void CheckCall(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  throw Error(status == CUDA_ERROR_OUT_OF_MEMORY ? Code::kResourceExhausted : Code::kInternal,
              std::string(what) + " failed: CUDA driver error " + std::to_string(static_cast<int>(status)));
}

struct MadeKernel {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};

}  // namespace

KernelHandle LoadMadeKernel(const std::string& binary, const char* name) {
  Check(cudaFree(nullptr), "cudaFree");  // the primary context must exist
  auto kernel = std::make_unique<MadeKernel>();
  CheckCall(GetCalls().load(&kernel->module, binary.data()), "cuModuleLoadData");
  const CUresult status = GetCalls().get_function(&kernel->function, kernel->module, name);
  if (status != CUDA_SUCCESS) GetCalls().unload(kernel->module);
  CheckCall(status, "cuModuleGetFunction");
  return reinterpret_cast<KernelHandle>(kernel.release());
}

void UnloadMadeKernel(KernelHandle handle) noexcept {
  const std::unique_ptr<MadeKernel> kernel(reinterpret_cast<MadeKernel*>(handle));
  if (kernel != nullptr) GetCalls().unload(kernel->module);
}

void LaunchMadeKernel(KernelHandle handle, cudaStream_t stream, int64_t blocks, int threads, void* argument) {
  void* arguments[] = {argument};
  CheckCall(GetCalls().launch(reinterpret_cast<MadeKernel*>(handle)->function, static_cast<unsigned>(blocks),
                              1, 1, static_cast<unsigned>(threads), 1, 1, 0, stream, arguments, nullptr),
            "cuLaunchKernel");
}

}  // namespace lanescope::exec::cuda
