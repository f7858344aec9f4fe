// SPDX-License-Identifier: Apache-2.0
// CUDA sources on a computer without a GPU: the part of CUDA's language and runtime that exec/cuda/kernels
// uses, as C++. translate_launches.py rewrites the launches; include/ holds headers of CUDA's names that lead
// here.
//
// Blocks run one after the other, backwards; the threads of a block one after the other, or, where they
// synchronize or shuffle, in turns, backwards too. A barrier that not all threads of a block reach, a shuffle
// that a lane has left and a launch beyond CUDA's limits end the program.
#pragma once

#include <math.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

// NOLINTBEGIN: the names are CUDA's.
#define __global__
#define __device__
#define __host__
#define __shared__ static  // blocks run one at a time

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1) : x(x_size), y(y_size), z(z_size) {}
};
struct uint3 {
  unsigned x, y, z;
};
inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorNotReady, cudaErrorUnknown };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
inline constexpr unsigned cudaHostAllocPortable = 1;

namespace lanescope::exec::emulator {

// The runners of enqueued work.
class Streams {
 public:
  virtual ~Streams() = default;
  virtual void Enqueue(cudaStream_t stream, std::function<void()> work) = 0;
  virtual void Synchronize(cudaStream_t stream) = 0;
  virtual cudaError_t Query(cudaStream_t stream) = 0;
  virtual bool IsCapturing(cudaStream_t stream) = 0;
  virtual cudaError_t CreateEvent(cudaEvent_t* event) = 0;
  virtual void DestroyEvent(cudaEvent_t event) = 0;
  virtual cudaError_t Record(cudaEvent_t event, cudaStream_t stream) = 0;
  virtual cudaError_t SynchronizeEvent(cudaEvent_t event) = 0;
  virtual cudaError_t ElapsedMs(float* ms, cudaEvent_t start, cudaEvent_t end) = 0;
  // For work that runs: it has taken so long.
  virtual void Pass(int64_t ns) = 0;
};
inline Streams* streams = nullptr;
inline int64_t kernel_ns = 0;  // that a kernel takes

void RunGrid(dim3 grid, dim3 block, size_t shared_bytes, bool together, const std::function<void()>& thread);
void WaitForBlock();
// Swaps the lane's bytes for those of lane `source` of its warp.
void Exchange(void* bytes, size_t count, int source, unsigned mask);
void* DynamicShared();
inline int Lane() { return static_cast<int>((threadIdx.y * blockDim.x + threadIdx.x) % 32); }

// Arguments are copied when the kernel is launched, as CUDA does.
template <bool kTogether, typename Kernel, typename... Arguments>
void Launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, Kernel kernel,
            Arguments... arguments) {
  streams->Enqueue(stream, [=] {
    RunGrid(grid, block, shared_bytes, kTogether, [&] { kernel(arguments...); });
    streams->Pass(kernel_ns);
  });
}

}  // namespace lanescope::exec::emulator

inline void __syncthreads() { lanescope::exec::emulator::WaitForBlock(); }
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta) {
  const int lane = lanescope::exec::emulator::Lane();
  const int source = lane + static_cast<int>(delta);
  lanescope::exec::emulator::Exchange(&value, sizeof value, source < 32 ? source : lane, mask);
  return value;
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits) {
  lanescope::exec::emulator::Exchange(&value, sizeof value, lanescope::exec::emulator::Lane() ^ bits, mask);
  return value;
}
inline uint32_t __float_as_uint(float x) { return __builtin_bit_cast(uint32_t, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline int atomicOr(int* to, int bits) {
  const int old = *to;
  *to |= bits;
  return old;
}
template <typename T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
T max(T a, T b) {
  return a < b ? b : a;
}

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorName(cudaError_t) { return "cudaErrorEmulated"; }
inline const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t stream) {
  lanescope::exec::emulator::streams->Enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  lanescope::exec::emulator::streams->Enqueue(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  lanescope::exec::emulator::streams->Synchronize(stream);
  return cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return lanescope::exec::emulator::streams->Query(stream);
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = lanescope::exec::emulator::streams->IsCapturing(stream) ? cudaStreamCaptureStatusActive
                                                                    : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return lanescope::exec::emulator::streams->CreateEvent(event);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  lanescope::exec::emulator::streams->DestroyEvent(event);
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return lanescope::exec::emulator::streams->Record(event, stream);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return lanescope::exec::emulator::streams->SynchronizeEvent(event);
}
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return lanescope::exec::emulator::streams->ElapsedMs(ms, start, end);
}
inline cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
// NOLINTEND
