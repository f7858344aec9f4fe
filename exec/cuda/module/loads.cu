// SPDX-License-Identifier: Apache-2.0
// Work that `devices --measure` repeats: a large product by cuBLAS, and a kernel that streams memory.
#include <cublas_v2.h>

#include "exec/cuda/module/module.cuh"

namespace lanescope::exec::cuda {
namespace {

// y = x, 16 bytes a thread and turn.
__global__ void StreamThrough(const float4* x, float4* y, int64_t n) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) y[i] = x[i];
}

// Fills factors with numbers of ordinary size.
__global__ void FillWithPattern(float* x, int64_t n) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    x[i] = 0.25f + static_cast<float>((i * 2654435761u) & 0xFFFF) / 65536.0f;
}

class DeviceMemory {
 public:
  explicit DeviceMemory(int64_t bytes) {
    Check(cudaMalloc(&memory_, static_cast<size_t>(bytes)), "cudaMalloc");
  }
  ~DeviceMemory() { cudaFree(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

class ProductLoad : public DeviceLoad {
 public:
  explicit ProductLoad(const LaunchSpec& spec) : launch_(MakeStreamLaunch(WithOwnMemory(spec))) {
    launch().cublas();
    for (DeviceMemory* matrix : {&a_, &b_}) {
      FillWithPattern<<<256, 256, 0, launch().stream()>>>(static_cast<float*>(matrix->get()), kElements);
      CheckLaunch("FillWithPattern");
    }
  }
  double flops() const override { return 2.0 * kSize * kSize * kSize; }
  double bytes() const override { return 3.0 * kElements * sizeof(float); }
  void Enqueue() override {
    const float one = 1, zero = 0;
    CheckCublas(cublasSgemm(launch().cublas(), CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &one,
                            static_cast<float*>(a_.get()), kSize, static_cast<float*>(b_.get()), kSize, &zero,
                            static_cast<float*>(c_.get()), kSize),
                "cublasSgemm");
  }

 private:
  static constexpr int kSize = 2048;
  static constexpr int64_t kElements = int64_t{kSize} * kSize;
  static constexpr int64_t kWorkspace = int64_t{32} << 20;

  Launch& launch() const { return static_cast<Launch&>(*launch_); }
  LaunchSpec WithOwnMemory(LaunchSpec spec) {
    spec.allocate = [this](int64_t) { return workspace_.get(); };
    return spec;
  }

  DeviceMemory a_{kElements * 4}, b_{kElements * 4}, c_{kElements * 4};
  DeviceMemory workspace_{kWorkspace};
  std::unique_ptr<StreamContext> launch_;
};

class StreamingLoad : public DeviceLoad {
 public:
  explicit StreamingLoad(const LaunchSpec& spec)
      : stream_(ToCuda(spec.stream)), blocks_(8 * std::max(1, spec.multiprocessors)) {}
  double flops() const override { return 0; }
  double bytes() const override { return 2.0 * kBytes; }
  void Enqueue() override {
    StreamThrough<<<static_cast<unsigned>(blocks_), 256, 0, stream_>>>(
        static_cast<float4*>(from_.get()), static_cast<float4*>(to_.get()),
        kBytes / static_cast<int64_t>(sizeof(float4)));
    CheckLaunch("StreamThrough");
  }

 private:
  // Well beyond the second-level caches.
  static constexpr int64_t kBytes = int64_t{256} << 20;

  cudaStream_t stream_;
  int blocks_;
  DeviceMemory from_{kBytes}, to_{kBytes};
};

}  // namespace

std::unique_ptr<DeviceLoad> MakeDeviceLoad(WorkClass work_class, const LaunchSpec& spec) {
  Check(cudaSetDevice(spec.ordinal), "cudaSetDevice");
  if (work_class == WorkClass::kCompute) return std::make_unique<ProductLoad>(spec);
  return std::make_unique<StreamingLoad>(spec);
}

}  // namespace lanescope::exec::cuda
