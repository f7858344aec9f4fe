// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/functors/binary.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
__global__ void SelectKernel(BroadcastMap<3> map, const uint8_t* condition, const T* a, const T* b, T* y) {
  for (int64_t i = ThreadIndex(); i < map.elements; i += ThreadCount()) {
    int64_t at[3];
    map.Offsets(i, at);
    const T yes = a[at[1]];
    const T no = b[at[2]];
    y[i] = condition[at[0]] != 0 ? yes : no;
  }
}

template <typename T>
void Select(Launch& launch, const BroadcastMap<3>& map, const void* condition, const void* a, const void* b,
            void* y) {
  SelectKernel<T><<<BlocksFor(map.elements), kThreads, 0, launch.stream()>>>(
      map, static_cast<const uint8_t*>(condition), static_cast<const T*>(a), static_cast<const T*>(b),
      static_cast<T*>(y));
  CheckLaunch("Select");
}

template <typename T>
__global__ void ClipKernel(BroadcastMap<3> map, const T* t, const T* low, const T* high, T* y) {
  for (int64_t i = ThreadIndex(); i < map.elements; i += ThreadCount()) {
    int64_t at[3];
    map.Offsets(i, at);
    const T bounded = functors::Minimum()(t[at[0]], high[at[2]]);
    y[i] = functors::Maximum()(bounded, low[at[1]]);
  }
}

template <typename T>
void Clip(Launch& launch, const BroadcastMap<3>& map, const void* t, const void* low, const void* high,
          void* y) {
  ClipKernel<T><<<BlocksFor(map.elements), kThreads, 0, launch.stream()>>>(
      map, static_cast<const T*>(t), static_cast<const T*>(low), static_cast<const T*>(high),
      static_cast<T*>(y));
  CheckLaunch("ClipByValue");
}

// Inputs of one launch of AddN; more are added to the sum of the ones before.
constexpr int kMostAddends = 32;

template <typename T>
struct Addends {
  const T* at[kMostAddends];
  int count;
  int own;  // how often what y holds is added, first
};

template <typename T>
__global__ void AddNKernel(Addends<T> addends, int64_t n, T* y) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    T total = T(0);
    if (addends.own > 0) {
      const T before = y[i];
      total = before;
      for (int k = 1; k < addends.own; ++k) total = functors::Add()(total, before);
    }
    for (int k = 0; k < addends.count; ++k) total = functors::Add()(total, addends.at[k][i]);
    y[i] = total;
  }
}

// Inputs that are the output's own memory come first, before anything is written.
template <typename T>
void AddN(Launch& launch, int64_t n, const void* const* inputs, int count, void* y) {
  Addends<T> addends{};
  for (int k = 0; k < count; ++k) addends.own += inputs[k] == y ? 1 : 0;
  int next = 0;
  do {
    addends.count = 0;
    for (; next < count && addends.count < kMostAddends; ++next) {
      if (inputs[next] != y) addends.at[addends.count++] = static_cast<const T*>(inputs[next]);
    }
    AddNKernel<T><<<BlocksFor(n), kThreads, 0, launch.stream()>>>(addends, n, static_cast<T*>(y));
    CheckLaunch("AddN");
    addends.own = 1;
  } while (next < count);
}

}  // namespace

void RunSelect(Launch& launch, int64_t element_bytes, const BroadcastMap<3>& map, const void* condition,
               const void* a, const void* b, void* y) {
  if (map.elements == 0) return;
  switch (element_bytes) {
    case 1:
      return Select<uint8_t>(launch, map, condition, a, b, y);
    case 2:
      return Select<uint16_t>(launch, map, condition, a, b, y);
    case 4:
      return Select<uint32_t>(launch, map, condition, a, b, y);
    default:
      return Select<uint64_t>(launch, map, condition, a, b, y);
  }
}

void RunClip(Launch& launch, LoopType type, const BroadcastMap<3>& map, const void* t, const void* low,
             const void* high, void* y) {
  if (map.elements == 0) return;
  switch (type) {
    case LoopType::kFloat:
      return Clip<float>(launch, map, t, low, high, y);
    case LoopType::kDouble:
      return Clip<double>(launch, map, t, low, high, y);
    case LoopType::kInt32:
      return Clip<int32_t>(launch, map, t, low, high, y);
    default:
      return Clip<int64_t>(launch, map, t, low, high, y);
  }
}

void RunAddN(Launch& launch, LoopType type, int64_t n, const void* const* inputs, int count, void* y) {
  if (n == 0) return;
  switch (type) {
    case LoopType::kFloat:
      return AddN<float>(launch, n, inputs, count, y);
    case LoopType::kDouble:
      return AddN<double>(launch, n, inputs, count, y);
    case LoopType::kInt32:
      return AddN<int32_t>(launch, n, inputs, count, y);
    default:
      return AddN<int64_t>(launch, n, inputs, count, y);
  }
}

}  // namespace lanescope::exec::cuda
