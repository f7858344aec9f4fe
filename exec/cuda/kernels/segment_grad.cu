// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/search.h"
#include "exec/cuda/kernels/sparse.h"
#include "exec/functors/unary.h"

namespace lanescope::exec::cuda {
namespace {

// The share of a row of segment `id`; the numbers are sorted.
template <typename T>
__device__ T WeightOf(Scaling scaling, const IndexReader& ids, int64_t updates, int64_t id) {
  if (scaling == Scaling::kNone) return T(1);
  const auto rows = static_cast<T>(UpperBound(ids, updates, id) - LowerBound(ids, updates, id));
  return scaling == Scaling::kMean ? T(1) / rows : functors::Rsqrt()(rows);
}

// The thread of the first update of a row adds up all of that row, in order. places: by sorted update, the
// row of the result; null: the row that it names.
template <typename T>
__global__ void SegmentGradKernel(SegmentGrad spec, SortedUpdates sorted, Divider inner, IndexReader ids,
                                  const int32_t* places, const T* grad, T* result) {
  const int64_t width = inner.divisor();
  for (int64_t i = ThreadIndex(); i < spec.updates * width; i += ThreadCount()) {
    int64_t first = i;
    const int64_t column = inner.Split(first);
    const uint64_t row = sorted.keys[first];
    if (row >= static_cast<uint64_t>(spec.rows) || (first > 0 && sorted.keys[first - 1] == row)) continue;
    T total = T(0);
    for (int64_t u = first; u < spec.updates && sorted.keys[u] == row; ++u) {
      const int64_t id = ids[sorted.order[u]];
      if (id < 0 || id >= spec.segments) continue;
      total += grad[id * width + column] * WeightOf<T>(spec.scaling, ids, spec.updates, id);
    }
    const int64_t place = places == nullptr ? static_cast<int64_t>(row) : places[first];
    result[place * width + column] = total;
  }
}

// For each sorted update: how many rows are named before its own; last, how many there are. One block.
__global__ void PlacesKernel(SortedUpdates sorted, int64_t rows, int64_t updates, int32_t* places) {
  __shared__ int32_t sums[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  int32_t before = 0;
  for (int64_t begin = 0; begin < updates; begin += kThreads) {
    const int64_t i = begin + thread;
    const bool named = i < updates && sorted.keys[i] < static_cast<uint64_t>(rows);
    sums[thread] = named && (i == 0 || sorted.keys[i - 1] != sorted.keys[i]) ? 1 : 0;
    __syncthreads();
    for (int step = 1; step < kThreads; step *= 2) {
      const int32_t more = thread >= step ? sums[thread - step] : 0;
      __syncthreads();
      sums[thread] += more;
      __syncthreads();
    }
    if (i < updates) places[i] = before + sums[thread] - 1;
    before += sums[kThreads - 1];
    __syncthreads();
  }
  if (thread == 0) places[updates] = before;
}

__global__ void NamesKernel(SortedUpdates sorted, int64_t rows, int64_t updates, const int32_t* places,
                            int index_bytes, void* named) {
  for (int64_t i = ThreadIndex(); i < updates; i += ThreadCount()) {
    const uint64_t row = sorted.keys[i];
    if (row >= static_cast<uint64_t>(rows) || (i > 0 && sorted.keys[i - 1] == row)) continue;
    if (index_bytes == 4) {
      static_cast<int32_t*>(named)[places[i]] = static_cast<int32_t>(row);
    } else {
      static_cast<int64_t*>(named)[places[i]] = static_cast<int64_t>(row);
    }
  }
}

template <typename T>
void Run(Launch& launch, const SegmentGrad& spec, IndexReader row_of, IndexReader ids, const void* grad,
         void* result) {
  ZeroBytes(launch, result, spec.rows * spec.inner * static_cast<int64_t>(sizeof(T)));
  if (spec.rows * spec.updates * spec.inner == 0) return;
  const SortedUpdates sorted = SortUpdates(launch, 0, spec.rows, spec.updates, row_of);
  SegmentGradKernel<T><<<BlocksFor(spec.updates * spec.inner), kThreads, 0, launch.stream()>>>(
      spec, sorted, Divider(spec.inner), ids, nullptr, static_cast<const T*>(grad), static_cast<T*>(result));
  CheckLaunch("a gradient of sums of rows");
}

template <typename T>
void RunNamed(Launch& launch, const SegmentGrad& spec, const SortedUpdates& sorted, IndexReader ids,
              const int32_t* places, const void* grad, void* result) {
  SegmentGradKernel<T><<<BlocksFor(spec.updates * spec.inner), kThreads, 0, launch.stream()>>>(
      spec, sorted, Divider(spec.inner), ids, places, static_cast<const T*>(grad), static_cast<T*>(result));
  CheckLaunch("a gradient of sums of rows");
}

}  // namespace

int64_t RunSegmentRowsGrad(Launch& launch, int32_t* staging, const SegmentGrad& spec, bool doubles,
                           IndexReader row_of, IndexReader ids, const void* grad, void* result,
                           int index_bytes, void* named) {
  if (spec.updates == 0) return 0;
  const auto bytes = (spec.updates + 1) * static_cast<int64_t>(sizeof(int32_t));
  const SortedUpdates sorted = SortUpdates(launch, bytes, spec.rows, spec.updates, row_of);
  int32_t* places = reinterpret_cast<int32_t*>(sorted.reserved);
  PlacesKernel<<<1, kThreads, 0, launch.stream()>>>(sorted, spec.rows, spec.updates, places);
  CheckLaunch("the rows of a gradient");
  NamesKernel<<<BlocksFor(spec.updates), kThreads, 0, launch.stream()>>>(sorted, spec.rows, spec.updates,
                                                                         places, index_bytes, named);
  CheckLaunch("the rows of a gradient");
  if (spec.inner > 0)
    (doubles ? RunNamed<double> : RunNamed<float>)(launch, spec, sorted, ids, places, grad, result);
  Check(cudaMemcpyAsync(staging, places + spec.updates, sizeof(int32_t), cudaMemcpyDeviceToHost,
                        launch.stream()),
        "reading a count");
  launch.Synchronize();
  return *staging;
}

void RunSegmentGrad(Launch& launch, const SegmentGrad& spec, bool doubles, IndexReader row_of,
                    IndexReader ids, const void* grad, void* result) {
  (doubles ? Run<double> : Run<float>)(launch, spec, row_of, ids, grad, result);
}

}  // namespace lanescope::exec::cuda
