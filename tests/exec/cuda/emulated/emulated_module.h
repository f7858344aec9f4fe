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

  using StubCuda::CreateEvent;
  using StubCuda::DestroyEvent;
  using StubCuda::Pass;
  using StubCuda::Record;
  using StubCuda::Synchronize;
  using StubCuda::SynchronizeEvent;
  const KernelRegistry& kernels() override { return cuda_kernels_; }
  std::unique_ptr<StreamContext> MakeLaunch(const cuda::LaunchSpec& spec) override;

 private:
  void Enqueue(cudaStream_t stream, std::function<void()> work) override;
  void Synchronize(cudaStream_t stream) override;
  cudaError_t Query(cudaStream_t stream) override;
  bool IsCapturing(cudaStream_t stream) override;
  cudaError_t CreateEvent(cudaEvent_t* event) override;
  void DestroyEvent(cudaEvent_t event) override;
  cudaError_t Record(cudaEvent_t event, cudaStream_t stream) override;
  cudaError_t SynchronizeEvent(cudaEvent_t event) override;
  cudaError_t ElapsedMs(float* ms, cudaEvent_t start, cudaEvent_t end) override;
  void Pass(int64_t ns) override { StubCuda::Pass(ns); }

  KernelRegistry cuda_kernels_;
};

}  // namespace lanescope::exec::test
