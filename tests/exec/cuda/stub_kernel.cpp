// SPDX-License-Identifier: Apache-2.0
// Kernels that are launched on the stub's streams.
#include "core/base/error.h"
#include "tests/exec/cuda/stub_state.h"
#include "tests/exec/later_kernel.h"

namespace lanescope::exec::test {
namespace {

class StubLaunch : public LaterStream {
 public:
  StubLaunch(StubCuda* stub, const cuda::LaunchSpec& spec) : stub_(stub), spec_(spec) {}
  bool IsDeviceMemory(const void* memory) const override { return stub_->IsDeviceMemory(memory); }
  void Enqueue(std::function<void()> work) override {
    LANESCOPE_CHECK(current_gpu == spec_.ordinal);
    stub_->Enqueue(spec_.stream, std::move(work));
  }
  void Synchronize() override { stub_->Synchronize(spec_.stream); }

 private:
  StubCuda* stub_;
  cuda::LaunchSpec spec_;
};

class StubLoad : public DeviceLoad {
 public:
  StubLoad(StubCuda* stub, WorkClass work_class, StreamHandle stream)
      : stub_(stub), work_class_(work_class), stream_(stream) {}
  double flops() const override { return work_class_ == WorkClass::kCompute ? 1e6 : 0; }
  double bytes() const override { return 1e6; }
  void Enqueue() override {
    stub_->Enqueue(stream_, [] {});
  }

 private:
  StubCuda* stub_;
  WorkClass work_class_;
  StreamHandle stream_;
};

}  // namespace

cuda::KernelHandle StubCuda::LoadKernel(const std::string& binary, const char* name) {
  Count("cuModuleLoadData");
  LANESCOPE_CHECK(!binary.empty() && std::string_view(name) == "fused");
  return reinterpret_cast<cuda::KernelHandle>(new int);
}

void StubCuda::UnloadKernel(cuda::KernelHandle kernel) noexcept { delete reinterpret_cast<int*>(kernel); }

void StubCuda::LaunchKernel(cuda::KernelHandle kernel, StreamHandle stream, int64_t blocks, int threads,
                            void* argument) {
  Count("cuLaunchKernel");
  LANESCOPE_CHECK(kernel != nullptr && blocks > 0 && threads > 0 && argument != nullptr);
  Enqueue(stream, [] {});
}

std::unique_ptr<StreamContext> StubCuda::MakeLaunch(const cuda::LaunchSpec& spec) {
  return std::make_unique<StubLaunch>(this, spec);
}

std::unique_ptr<DeviceLoad> StubCuda::MakeLoad(WorkClass work_class, const cuda::LaunchSpec& spec) {
  return std::make_unique<StubLoad>(this, work_class, spec.stream);
}

}  // namespace lanescope::exec::test
