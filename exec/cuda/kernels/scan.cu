// SPDX-License-Identifier: Apache-2.0
// Running sums and products along a dimension.
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/reduce.h"
#include "exec/functors/binary.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
struct AnyScan {
  bool product;
  __device__ T Identity() const { return product ? T(1) : T(0); }
  __device__ T operator()(T a, T b) const { return product ? functors::Mul()(a, b) : functors::Add()(a, b); }
};

struct ScanMap {
  int64_t lines;
  int64_t length;
  Divider inner;
  bool exclusive;
  bool reverse;

  __device__ int64_t Base(int64_t line) const {
    const int64_t column = inner.Split(line);
    return line * length * inner.divisor() + column;
  }
  __device__ int64_t Place(int64_t i) const { return (reverse ? length - 1 - i : i) * inner.divisor(); }
};

// A thread for each line.
template <typename T>
__global__ void ScanLinesKernel(AnyScan<T> op, ScanMap map, const T* x, T* y) {
  for (int64_t line = ThreadIndex(); line < map.lines; line += ThreadCount()) {
    const int64_t base = map.Base(line);
    T total = op.Identity();
    for (int64_t i = 0; i < map.length; ++i) {
      const int64_t at = base + map.Place(i);
      const T next = op(total, x[at]);
      y[at] = map.exclusive ? total : next;
      total = next;
    }
  }
}

// A block for each line, kThreads elements at a time.
template <typename T>
__global__ void ScanLongLinesKernel(AnyScan<T> op, ScanMap map, const T* x, T* y) {
  __shared__ T sums[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t line = blockIdx.x; line < map.lines; line += gridDim.x) {
    const int64_t base = map.Base(line);
    T carried = op.Identity();
    for (int64_t begin = 0; begin < map.length; begin += kThreads) {
      const int64_t i = begin + thread;
      const bool inside = i < map.length;
      const int64_t at = base + (inside ? map.Place(i) : 0);
      sums[thread] = inside ? x[at] : op.Identity();
      __syncthreads();
      for (int step = 1; step < kThreads; step *= 2) {
        T before = op.Identity();
        if (thread >= step) before = sums[thread - step];
        __syncthreads();
        if (thread >= step) sums[thread] = op(before, sums[thread]);
        __syncthreads();
      }
      if (inside) {
        if (!map.exclusive) {
          y[at] = op(carried, sums[thread]);
        } else {
          y[at] = thread == 0 ? carried : op(carried, sums[thread - 1]);
        }
      }
      carried = op(carried, sums[kThreads - 1]);
      __syncthreads();
    }
  }
}

template <typename T>
void Scan(Launch& launch, const ScanSpec& spec, const ScanMap& map, const void* x, void* y) {
  const AnyScan<T> op{spec.product};
  const T* in = static_cast<const T*>(x);
  T* out = static_cast<T*>(y);
  if (map.length <= 32 || map.lines > 8192) {
    ScanLinesKernel<T><<<BlocksFor(map.lines), kThreads, 0, launch.stream()>>>(op, map, in, out);
  } else {
    ScanLongLinesKernel<T><<<BlocksFor(map.lines, 1), kThreads, 0, launch.stream()>>>(op, map, in, out);
  }
  CheckLaunch("a cumulative sum");
}

}  // namespace

void RunScan(Launch& launch, const ScanPlan& plan, LoopType type, const void* x, void* y) {
  const auto& [spec, walk] = plan;
  const auto [outer, length, inner] = walk;
  if (outer * length * inner == 0) return;
  const ScanMap map{outer * inner, length, Divider(inner), spec.exclusive, spec.reverse};
  switch (type) {
    case LoopType::kFloat:
      return Scan<float>(launch, spec, map, x, y);
    case LoopType::kDouble:
      return Scan<double>(launch, spec, map, x, y);
    case LoopType::kInt32:
      return Scan<int32_t>(launch, spec, map, x, y);
    default:
      return Scan<int64_t>(launch, spec, map, x, y);
  }
}

}  // namespace lanescope::exec::cuda
