// SPDX-License-Identifier: Apache-2.0
// The CUDA module made of the CUDA kernels themselves, emulated, on the streams of the stub.
#pragma once

#include "tests/exec/cuda/emulated/emulator.h"
#include "tests/exec/cuda/stub_cuda.h"

namespace lanescope::exec::test {

// As StubCuda, but ops have their CUDA kernels, which touch device memory only when the stub's streams run
// them.
class EmulatedCuda : public StubCuda, private emulator::Streams {
 public:
  explicit EmulatedCuda(const StubOptions& options = {});
  ~EmulatedCuda() override;

  using StubCuda::Synchronize;
  const KernelRegistry& kernels() override { return cuda_kernels_; }
  std::unique_ptr<StreamContext> MakeLaunch(const cuda::LaunchSpec& spec) override;

 private:
  void Enqueue(cudaStream_t stream, std::function<void()> work) override;
  void Synchronize(cudaStream_t stream) override;

  KernelRegistry cuda_kernels_;
};

}  // namespace lanescope::exec::test
