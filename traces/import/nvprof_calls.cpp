// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <span>

#include "traces/import/nvprof_trace.h"

namespace lanescope::traces {
namespace {

struct NumberedCall {
  int number;
  std::string_view name;
};

// CUPTI_RUNTIME_TRACE_CBID_* and CUPTI_DRIVER_TRACE_CBID_* of cupti_runtime_cbid.h and cupti_driver_cbid.h:
// numbers keep their meaning in every version. Those that launch, copy, wait, allocate or are called often.
constexpr NumberedCall kRuntimeCalls[] = {{3, "cudaGetDeviceCount"},
                                          {4, "cudaGetDeviceProperties"},
                                          {8, "cudaConfigureCall"},
                                          {9, "cudaSetupArgument"},
                                          {10, "cudaGetLastError"},
                                          {11, "cudaPeekAtLastError"},
                                          {13, "cudaLaunch"},
                                          {15, "cudaFuncGetAttributes"},
                                          {16, "cudaSetDevice"},
                                          {17, "cudaGetDevice"},
                                          {20, "cudaMalloc"},
                                          {21, "cudaMallocPitch"},
                                          {22, "cudaFree"},
                                          {25, "cudaMallocHost"},
                                          {26, "cudaFreeHost"},
                                          {27, "cudaHostAlloc"},
                                          {30, "cudaMemGetInfo"},
                                          {31, "cudaMemcpy"},
                                          {32, "cudaMemcpy2D"},
                                          {39, "cudaMemcpyToSymbol"},
                                          {40, "cudaMemcpyFromSymbol"},
                                          {41, "cudaMemcpyAsync"},
                                          {44, "cudaMemcpy2DAsync"},
                                          {49, "cudaMemset"},
                                          {51, "cudaMemsetAsync"},
                                          {126, "cudaThreadSynchronize"},
                                          {129, "cudaStreamCreate"},
                                          {130, "cudaStreamDestroy"},
                                          {131, "cudaStreamSynchronize"},
                                          {132, "cudaStreamQuery"},
                                          {133, "cudaEventCreate"},
                                          {134, "cudaEventCreateWithFlags"},
                                          {135, "cudaEventRecord"},
                                          {136, "cudaEventDestroy"},
                                          {137, "cudaEventSynchronize"},
                                          {138, "cudaEventQuery"},
                                          {139, "cudaEventElapsedTime"},
                                          {145, "cudaMemcpy3DAsync"},
                                          {147, "cudaStreamWaitEvent"},
                                          {151, "cudaPointerGetAttributes"},
                                          {152, "cudaHostRegister"},
                                          {153, "cudaHostUnregister"},
                                          {160, "cudaMemcpyPeer"},
                                          {161, "cudaMemcpyPeerAsync"},
                                          {164, "cudaDeviceReset"},
                                          {165, "cudaDeviceSynchronize"},
                                          {198, "cudaStreamCreateWithFlags"},
                                          {200, "cudaDeviceGetAttribute"},
                                          {201, "cudaStreamDestroy"},
                                          {202, "cudaStreamCreateWithPriority"},
                                          {206, "cudaMallocManaged"},
                                          {211, "cudaLaunchKernel"},
                                          {252, "cudaMemPrefetchAsync"},
                                          {254, "cudaMemAdvise"},
                                          {269, "cudaLaunchCooperativeKernel"},
                                          {273, "cudaFuncSetAttribute"},
                                          {311, "cudaGraphLaunch"},
                                          {373, "cudaMallocAsync"},
                                          {375, "cudaFreeAsync"},
                                          {430, "cudaLaunchKernelExC"}};
constexpr NumberedCall kDriverCalls[] = {{17, "cuCtxSynchronize"},
                                         {19, "cuModuleLoadData"},
                                         {119, "cuEventRecord"},
                                         {121, "cuEventSynchronize"},
                                         {126, "cuStreamSynchronize"},
                                         {216, "cuMemsetD8Async"},
                                         {220, "cuMemsetD32Async"},
                                         {243, "cuMemAlloc_v2"},
                                         {245, "cuMemFree_v2"},
                                         {276, "cuMemcpyHtoD_v2"},
                                         {277, "cuMemcpyHtoDAsync_v2"},
                                         {278, "cuMemcpyDtoH_v2"},
                                         {279, "cuMemcpyDtoHAsync_v2"},
                                         {280, "cuMemcpyDtoD_v2"},
                                         {281, "cuMemcpyDtoDAsync_v2"},
                                         {295, "cuStreamWaitEvent"},
                                         {305, "cuMemcpy"},
                                         {306, "cuMemcpyAsync"},
                                         {307, "cuLaunchKernel"},
                                         {652, "cuLaunchKernelEx"}};

}  // namespace

std::string CallOfNumber(bool runtime, int64_t number) {
  const std::span<const NumberedCall> known =
      runtime ? std::span<const NumberedCall>(kRuntimeCalls) : std::span<const NumberedCall>(kDriverCalls);
  for (const NumberedCall& call : known) {
    if (call.number == number) return std::string(call.name);
  }
  return fmt::format("{} call {}", runtime ? "runtime" : "driver", number);
}

}  // namespace lanescope::traces
