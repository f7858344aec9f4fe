// SPDX-License-Identifier: Apache-2.0
// The first largest or smallest element, the largest k, and whether a class is among them.
#include <limits>

#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/index_reader.h"
#include "exec/cuda/kernels/reduce.h"
#include "exec/functors/unary.h"

namespace lanescope::exec::cuda {
namespace {

// The best of a thread so far: an index and its element; index -1: nothing yet.
template <typename T>
struct Found {
  T value;
  int64_t index;
};

// The better of two findings: strictly larger (smaller), or the first of equal ones.
template <typename T>
__device__ Found<T> Better(bool largest, Found<T> a, Found<T> b) {
  if (a.index < 0) return b;
  if (b.index < 0) return a;
  const bool b_wins = largest ? b.value > a.value : b.value < a.value;
  const bool a_wins = largest ? a.value > b.value : a.value < b.value;
  if (b_wins || (!a_wins && b.index < a.index)) return b;
  return a;
}

// A warp for each result. As on the host, the search begins with the lowest (highest) value at index 0, so an
// element must beat that one to be found.
template <typename T>
__global__ void ArgKernel(bool largest, int64_t outputs, int64_t length, Divider inner, T start, const T* x,
                          int index_bytes, void* result) {
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t stride = inner.divisor();
  for (int64_t output = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; output < outputs;
       output += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    int64_t outer = output;
    const int64_t column = inner.Split(outer);
    const T* base = x + outer * length * stride + column;
    Found<T> best{start, -1};
    for (int64_t i = lane; i < length; i += 32) {
      const T value = base[i * stride];
      const T record = best.index < 0 ? start : best.value;
      if (largest ? value > record : value < record) best = {value, i};
    }
    for (int half = 16; half > 0; half /= 2) {
      Found<T> other;
      other.value = __shfl_down_sync(0xFFFFFFFFu, best.value, half);
      other.index = __shfl_down_sync(0xFFFFFFFFu, best.index, half);
      best = Better(largest, best, other);
    }
    if (lane != 0) continue;
    const int64_t found = best.index < 0 ? 0 : best.index;
    if (index_bytes == 4) {
      static_cast<int32_t*>(result)[output] = static_cast<int32_t>(found);
    } else {
      static_cast<int64_t*>(result)[output] = found;
    }
  }
}

constexpr unsigned kWarpsPerBlock = 8;

unsigned WarpBlocks(int64_t warps) { return BlocksFor(warps, static_cast<int>(kWarpsPerBlock)); }

template <typename T>
void Arg(Launch& launch, bool largest, int64_t outer, int64_t length, int64_t inner, const void* x,
         int index_bytes, void* result) {
  T start;
  if constexpr (std::is_floating_point_v<T>) {
    start = largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  } else {
    start = largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
  const int64_t outputs = outer * inner;
  ArgKernel<T><<<WarpBlocks(outputs), dim3(32, kWarpsPerBlock), 0, launch.stream()>>>(
      largest, outputs, length, Divider(inner), start, static_cast<const T*>(x), index_bytes, result);
  CheckLaunch("ArgMax");
}

// Whether (a, i) comes before (b, j): larger first, of equal ones the lower number.
template <typename T>
__device__ bool Before(T a, int64_t i, T b, int64_t j) {
  return a > b || (!(b > a) && i < j);
}

// A block for each row finds the largest element after the last one found, k times.
template <typename T>
__global__ void TopKKernel(int64_t rows, int64_t columns, int64_t k, const T* x, T* values,
                           int32_t* numbers) {
  __shared__ T best_value[kThreads];
  __shared__ int64_t best_number[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * columns;
    T last = T(0);
    int64_t last_number = -1;
    for (int64_t place = 0; place < k; ++place) {
      T best = T(0);
      int64_t number = -1;
      for (int64_t i = thread; i < columns; i += kThreads) {
        const T value = in[i];
        if (last_number >= 0 && !Before(last, last_number, value, i)) continue;
        if (number < 0 || Before(value, i, best, number)) {
          best = value;
          number = i;
        }
      }
      best_value[thread] = best;
      best_number[thread] = number;
      __syncthreads();
      for (int half = kThreads / 2; half > 0; half /= 2) {
        if (thread < half) {
          const int64_t other = best_number[thread + half];
          const int64_t own = best_number[thread];
          if (other >= 0 && (own < 0 || Before(best_value[thread + half], other, best_value[thread], own))) {
            best_value[thread] = best_value[thread + half];
            best_number[thread] = other;
          }
        }
        __syncthreads();
      }
      last_number = best_number[0];
      last = best_value[0];
      // NaN defies order: whatever is left then counts as the first element.
      if (last_number < 0) {
        last_number = 0;
        last = in[0];
      }
      if (thread == 0) {
        values[row * k + place] = last;
        numbers[row * k + place] = static_cast<int32_t>(last_number);
      }
      __syncthreads();
    }
  }
}

template <typename T>
void TopK(Launch& launch, int64_t rows, int64_t columns, int64_t k, const void* x, void* values,
          int32_t* numbers) {
  TopKKernel<T><<<BlocksFor(rows, 1), kThreads, 0, launch.stream()>>>(
      rows, columns, k, static_cast<const T*>(x), static_cast<T*>(values), numbers);
  CheckLaunch("TopK");
}

// A warp for each row.
__global__ void InTopKKernel(int64_t rows, int64_t classes, IndexReader targets, IndexReader k,
                             const float* predictions, bool* result) {
  const int lane = static_cast<int>(threadIdx.x);
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; row < rows;
       row += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    const int64_t target = targets[row];
    const float* line = predictions + row * classes;
    const bool in_range = target >= 0 && target < classes;
    const float wanted = in_range ? line[target] : 0.0f;
    int64_t more = 0;
    int64_t bad = in_range ? 0 : 1;
    for (int64_t i = lane; i < classes; i += 32) {
      more += line[i] > wanted ? 1 : 0;
      bad += functors::IsFinite()(line[i]) ? 0 : 1;
    }
    for (int half = 16; half > 0; half /= 2) {
      more += __shfl_down_sync(0xFFFFFFFFu, more, half);
      bad += __shfl_down_sync(0xFFFFFFFFu, bad, half);
    }
    if (lane == 0) result[row] = bad == 0 && more < k[0];
  }
}

}  // namespace

void RunArg(Launch& launch, const ArgPlan& plan, DataType dtype, const void* x, int index_bytes,
            void* result) {
  const bool largest = plan.largest;
  const auto [outer, length, inner] = plan.walk;
  if (outer * inner == 0) return;
  switch (dtype) {
    case DataType::kFloat:
      return Arg<float>(launch, largest, outer, length, inner, x, index_bytes, result);
    case DataType::kDouble:
      return Arg<double>(launch, largest, outer, length, inner, x, index_bytes, result);
    case DataType::kInt32:
      return Arg<int32_t>(launch, largest, outer, length, inner, x, index_bytes, result);
    default:
      return Arg<int64_t>(launch, largest, outer, length, inner, x, index_bytes, result);
  }
}

void RunTopK(Launch& launch, const TopKPlan& plan, LoopType type, const void* x, void* values,
             int32_t* numbers) {
  const auto [rows, columns, k] = plan;
  if (rows * k == 0) return;
  switch (type) {
    case LoopType::kFloat:
      return TopK<float>(launch, rows, columns, k, x, values, numbers);
    case LoopType::kDouble:
      return TopK<double>(launch, rows, columns, k, x, values, numbers);
    case LoopType::kInt32:
      return TopK<int32_t>(launch, rows, columns, k, x, values, numbers);
    default:
      return TopK<int64_t>(launch, rows, columns, k, x, values, numbers);
  }
}

void RunInTopK(Launch& launch, int64_t rows, int64_t classes, int index_bytes, const float* predictions,
               const void* targets, const void* k, bool* result) {
  if (rows == 0) return;
  InTopKKernel<<<WarpBlocks(rows), dim3(32, kWarpsPerBlock), 0, launch.stream()>>>(
      rows, classes, IndexReader{targets, index_bytes}, IndexReader{k, index_bytes}, predictions, result);
  CheckLaunch("InTopK");
}

}  // namespace lanescope::exec::cuda
