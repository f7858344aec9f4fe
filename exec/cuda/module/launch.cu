// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>

#include <algorithm>
#include <utility>

#include "exec/cuda/module/module.cuh"

namespace lanescope::exec::cuda {
namespace {

// The vendor's recommendation for Hopper; smaller chips need less. Without a workspace of its own a handle
// allocates one while a graph is captured.
constexpr int64_t kCublasWorkspace = int64_t{32} << 20;

struct CublasHandle {
  cublasHandle_t handle = nullptr;
  ~CublasHandle() {
    if (handle != nullptr) cublasDestroy(handle);
  }
};

class StreamLaunch : public Launch {
 public:
  explicit StreamLaunch(const LaunchSpec& spec) : allocate_(spec.allocate), release_(spec.release) {
    stream_ = ToCuda(spec.stream);
    ordinal_ = spec.ordinal;
    multiprocessors_ = std::max(1, spec.multiprocessors);
    allow_tf32_ = spec.allow_tf32;
    any_algorithm_ = spec.any_algorithm;
    gpu_ = spec.gpu;
  }
  ~StreamLaunch() override {
    cudaSetDevice(ordinal_);  // libraries release their handles on the current device
    for (const auto& [command, block] : staging_) cudaFreeHost(block.memory);
    for (void* memory : retired_) cudaFreeHost(memory);
  }

 private:
  struct Block {
    void* memory = nullptr;
    int64_t bytes = 0;
  };

  // Outgrown memory stays: work in flight and recorded graphs still use it.
  void* GrowScratch(int64_t bytes) override {
    if (bytes > scratch_.bytes) {
      const int64_t larger =
          std::max(bytes, std::min(2 * scratch_.bytes, scratch_.bytes + (int64_t{64} << 20)));
      scratch_ = {allocate_(larger), larger};
    }
    return scratch_.memory;
  }
  void* FindStaging(const void* command, int64_t bytes) override {
    Block& block = staging_[command];
    if (bytes > block.bytes || block.memory == nullptr) {
      void* memory = nullptr;
      Check(cudaHostAlloc(&memory, static_cast<size_t>(std::max<int64_t>(256, bytes)), cudaHostAllocPortable),
            "cudaHostAlloc");
      if (block.memory != nullptr) retired_.push_back(block.memory);
      block = {memory, std::max<int64_t>(256, bytes)};
    }
    return block.memory;
  }

  void* AllocateForStream(int64_t bytes) override { return allocate_(bytes); }
  void Release(void* memory) override { release_(memory); }

  std::function<void*(int64_t)> allocate_;
  std::function<void(void*)> release_;
  Block scratch_;
  std::unordered_map<const void*, Block> staging_;
  std::vector<void*> retired_;
};

}  // namespace

cublasContext* Launch::cublas() {
  CublasHandle& kept = Keep<CublasHandle>();
  if (kept.handle != nullptr) return kept.handle;
  CublasHandle made;
  CheckCublas(cublasCreate(&made.handle), "cublasCreate");
  CheckCublas(cublasSetStream(made.handle, stream_), "cublasSetStream");
  CheckCublas(cublasSetWorkspace(made.handle, AllocateForStream(kCublasWorkspace), kCublasWorkspace),
              "cublasSetWorkspace");
  CheckCublas(cublasSetMathMode(made.handle, allow_tf32_ ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
              "cublasSetMathMode");
  // Kept only when all of it is done: the next product after a lack of memory begins anew.
  std::swap(kept.handle, made.handle);
  return kept.handle;
}

void* Launch::Scratch(int64_t bytes) { return GrowScratch(bytes); }

// Where the stream has failed its memory is no longer in use either.
std::shared_ptr<void> Launch::Borrow(int64_t bytes) {
  return {AllocateForStream(std::max<int64_t>(1, bytes)), [this](void* memory) {
            cudaStreamSynchronize(stream_);
            Release(memory);
          }};
}

void* Launch::Staging(const KernelContext& context, int64_t bytes) { return FindStaging(&context, bytes); }

void Launch::Synchronize() { Check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

std::unique_ptr<StreamContext> MakeStreamLaunch(const LaunchSpec& spec) {
  return std::make_unique<StreamLaunch>(spec);
}

}  // namespace lanescope::exec::cuda
