// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/cuda/emulated/emulated_module.h"

#include "exec/cuda/module/module.cuh"

namespace lanescope::exec::test {

EmulatedCuda::EmulatedCuda(const StubOptions& options) : StubCuda(options) {
  cuda::RegisterCudaKernels(cuda_kernels_);
  emulator::streams = this;
}

EmulatedCuda::~EmulatedCuda() { emulator::streams = nullptr; }

std::unique_ptr<StreamContext> EmulatedCuda::MakeLaunch(const cuda::LaunchSpec& spec) {
  return cuda::MakeStreamLaunch(spec);
}

void EmulatedCuda::Enqueue(cudaStream_t stream, std::function<void()> work) {
  StubCuda::Enqueue(reinterpret_cast<StreamHandle>(stream), std::move(work));
}

void EmulatedCuda::Synchronize(cudaStream_t stream) {
  StubCuda::Synchronize(reinterpret_cast<StreamHandle>(stream));
}

}  // namespace lanescope::exec::test
