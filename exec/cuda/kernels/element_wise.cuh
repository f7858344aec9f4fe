// SPDX-License-Identifier: Apache-2.0
// The CUDA bodies of element-wise loops: one operand, two operands that advance or are one value, and the
// general broadcast.
#pragma once

#include "exec/cuda/kernels/broadcast_map.h"
#include "exec/cuda/kernels/launch_size.h"
#include "exec/cuda/launch.cuh"
#include "exec/loops/element_wise_list.h"

namespace lanescope::exec::cuda {

// Elements that move as one load or store.
template <typename T>
struct alignas(4 * sizeof(T)) Quad {
  T at[4];
};

template <typename T>
bool AlignedForQuads(const T* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % sizeof(Quad<T>) == 0;
}

__device__ inline int64_t ThreadIndex() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t ThreadCount() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

template <typename F, typename T, typename R>
__global__ void MapKernel(F op, int64_t n, const T* x, R* y, bool quads) {
  int64_t begin = ThreadIndex();
  if (quads) {
    const int64_t whole = n / 4;
    for (int64_t i = begin; i < whole; i += ThreadCount()) {
      const Quad<T> in = reinterpret_cast<const Quad<T>*>(x)[i];
      Quad<R> out;
#pragma unroll
      for (int k = 0; k < 4; ++k) out.at[k] = op(in.at[k]);
      reinterpret_cast<Quad<R>*>(y)[i] = out;
    }
    begin += whole * 4;
  }
  for (int64_t i = begin; i < n; i += ThreadCount()) y[i] = op(x[i]);
}

template <typename T, typename R, typename F>
void Map(Launch& launch, F op, int64_t n, const void* x, void* y) {
  if (n == 0) return;
  const T* in = static_cast<const T*>(x);
  R* out = static_cast<R*>(y);
  const bool quads = AlignedForQuads(in) && AlignedForQuads(out);
  const int64_t items = quads ? (n + 3) / 4 : n;
  MapKernel<F, T, R><<<BlocksFor(items), kThreads, 0, launch.stream()>>>(op, n, in, out, quads);
  CheckLaunch("an element-wise kernel");
}

// Operands advance with the output or are one value (`*_one`).
template <typename F, typename T, typename R>
__global__ void MapPairsKernel(F op, int64_t n, const T* a, bool a_one, const T* b, bool b_one, R* y,
                               bool quads) {
  int64_t begin = ThreadIndex();
  const T one_a = a[0];
  const T one_b = b[0];
  if (quads) {
    const int64_t whole = n / 4;
    for (int64_t i = begin; i < whole; i += ThreadCount()) {
      Quad<T> left;
      Quad<T> right;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        left.at[k] = one_a;
        right.at[k] = one_b;
      }
      if (!a_one) left = reinterpret_cast<const Quad<T>*>(a)[i];
      if (!b_one) right = reinterpret_cast<const Quad<T>*>(b)[i];
      Quad<R> out;
#pragma unroll
      for (int k = 0; k < 4; ++k) out.at[k] = op(left.at[k], right.at[k]);
      reinterpret_cast<Quad<R>*>(y)[i] = out;
    }
    begin += whole * 4;
  }
  for (int64_t i = begin; i < n; i += ThreadCount()) y[i] = op(a_one ? one_a : a[i], b_one ? one_b : b[i]);
}

template <typename F, typename T, typename R>
__global__ void BroadcastPairsKernel(F op, BroadcastMap<2> map, const T* a, const T* b, R* y) {
  for (int64_t i = ThreadIndex(); i < map.elements; i += ThreadCount()) {
    int64_t at[2];
    map.Offsets(i, at);
    y[i] = op(a[at[0]], b[at[1]]);
  }
}

template <typename T, typename R, typename F>
void MapPairs(Launch& launch, F op, const BroadcastMap<2>& map, const void* a, const void* b, void* y) {
  const int64_t n = map.elements;
  if (n == 0) return;
  const T* left = static_cast<const T*>(a);
  const T* right = static_cast<const T*>(b);
  R* out = static_cast<R*>(y);
  if (!map.flat) {
    BroadcastPairsKernel<F, T, R><<<BlocksFor(n), kThreads, 0, launch.stream()>>>(op, map, left, right, out);
    CheckLaunch("a broadcasting kernel");
    return;
  }
  const bool a_one = map.stride[0][0] == 0;
  const bool b_one = map.stride[1][0] == 0;
  const bool quads =
      (a_one || AlignedForQuads(left)) && (b_one || AlignedForQuads(right)) && AlignedForQuads(out);
  const int64_t items = quads ? (n + 3) / 4 : n;
  MapPairsKernel<F, T, R>
      <<<BlocksFor(items), kThreads, 0, launch.stream()>>>(op, n, left, a_one, right, b_one, out, quads);
  CheckLaunch("an element-wise kernel");
}

// Launches by op: every op and type has a kernel of its own, whose name says which.
using UnaryLaunch = void (*)(Launch&, int64_t n, const void* x, void* y);
using PairLaunch = void (*)(Launch&, const BroadcastMap<2>& map, const void* a, const void* b, void* y);

template <typename F, typename T, typename R>
void LaunchMap(Launch& launch, int64_t n, const void* x, void* y) {
  Map<T, R>(launch, F(), n, x, y);
}
template <typename F, typename T, typename R>
void LaunchPairs(Launch& launch, const BroadcastMap<2>& map, const void* a, const void* b, void* y) {
  MapPairs<T, R>(launch, F(), map, a, b, y);
}

// Visits a list (exec/loops/element_wise_list.h) for the launch of `wanted` on elements of T, with results
// of R: null where the op does not exist for them.
template <typename T, typename R, typename Op, typename Launch>
struct FindLaunch {
  Op wanted;
  Launch& found;

  template <typename F, typename... Types>
  void operator()(Op op) const {
    if constexpr ((std::is_same_v<T, Types> || ...)) {
      if (op != wanted) return;
      if constexpr (std::is_same_v<Launch, UnaryLaunch>) {
        found = LaunchMap<F, T, R>;
      } else {
        found = LaunchPairs<F, T, R>;
      }
    }
  }
};

}  // namespace lanescope::exec::cuda
