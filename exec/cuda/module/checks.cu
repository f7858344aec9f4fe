// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>

#include "core/base/error.h"
#include "exec/cuda/launch.cuh"

namespace lanescope::exec::cuda {

void Check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // else the next check would report this error again
  const Code code = status == cudaErrorMemoryAllocation ? Code::kResourceExhausted : Code::kInternal;
  throw Error(code, std::string(what) + " failed: " + cudaGetErrorName(status) + " (" +
                        cudaGetErrorString(status) + ")");
}

void CheckCublas(int status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const auto known = static_cast<cublasStatus_t>(status);
  const Code code = known == CUBLAS_STATUS_ALLOC_FAILED ? Code::kResourceExhausted : Code::kInternal;
  throw Error(code, std::string(what) + " failed: " + cublasGetStatusName(known) + " (" +
                        cublasGetStatusString(known) + ")");
}

}  // namespace lanescope::exec::cuda
