// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/cuda/emulated/emulated_module.h"

#include "core/base/error.h"
#include "exec/cuda/module/module.cuh"

namespace lanescope::exec::test {
namespace {

StreamHandle ToStub(cudaStream_t stream) { return reinterpret_cast<StreamHandle>(stream); }
EventHandle ToStub(cudaEvent_t event) { return reinterpret_cast<EventHandle>(event); }

// CUDA's functions do not throw.
template <typename Call>
cudaError_t StatusOf(Call call) {
  try {
    call();
    return cudaSuccess;
  } catch (const Error&) {
    return cudaErrorUnknown;
  }
}

}  // namespace

EmulatedCuda::EmulatedCuda(const StubOptions& options) : StubCuda(options) {
  cuda::RegisterCudaKernels(cuda_kernels_);
  emulator::streams = this;
}

EmulatedCuda::~EmulatedCuda() { emulator::streams = nullptr; }

std::unique_ptr<StreamContext> EmulatedCuda::MakeLaunch(const cuda::LaunchSpec& spec) {
  return cuda::MakeStreamLaunch(spec);
}

void EmulatedCuda::Enqueue(cudaStream_t stream, std::function<void()> work) {
  StubCuda::Enqueue(ToStub(stream), std::move(work));
}

void EmulatedCuda::Synchronize(cudaStream_t stream) { StubCuda::Synchronize(ToStub(stream)); }

cudaError_t EmulatedCuda::Query(cudaStream_t stream) {
  bool is_empty = false;
  const cudaError_t status = StatusOf([&] { is_empty = IsEmpty(ToStub(stream)); });
  return status == cudaSuccess && !is_empty ? cudaErrorNotReady : status;
}

bool EmulatedCuda::IsCapturing(cudaStream_t stream) { return IsCaptured(ToStub(stream)); }

cudaError_t EmulatedCuda::CreateEvent(cudaEvent_t* event) {
  return StatusOf([&] { *event = reinterpret_cast<cudaEvent_t>(StubCuda::CreateEvent(true)); });
}

void EmulatedCuda::DestroyEvent(cudaEvent_t event) { StubCuda::DestroyEvent(ToStub(event)); }

cudaError_t EmulatedCuda::Record(cudaEvent_t event, cudaStream_t stream) {
  return StatusOf([&] { StubCuda::Record(ToStub(event), ToStub(stream)); });
}

cudaError_t EmulatedCuda::SynchronizeEvent(cudaEvent_t event) {
  return StatusOf([&] { StubCuda::SynchronizeEvent(ToStub(event)); });
}

cudaError_t EmulatedCuda::ElapsedMs(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return StatusOf([&] { *ms = static_cast<float>(ElapsedNs(ToStub(start), ToStub(end))) / 1e6f; });
}

}  // namespace lanescope::exec::test
