// SPDX-License-Identifier: Apache-2.0
// The CUDA module of the GPUs of tests/support/stub_gpus.cpp: a CUDA made of host memory.
#include <algorithm>
#include <string>

#include "exec/cuda/cuda_module.h"
#include "tests/exec/cuda/stub_cuda.h"

extern "C" __attribute__((visibility("default"))) lanescope::exec::cuda::CudaModule* lanescope_cuda_module(
    int version) {
  using namespace lanescope::exec;
  if (version != cuda::kCudaModuleVersion) return nullptr;
  std::string reason;
  test::StubOptions options;
  options.gpus = cuda::CountVisibleGpus(&reason);
  static auto* stub = new test::StubCuda(options);  // as long as the process
  return stub;
}
