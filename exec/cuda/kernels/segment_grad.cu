#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/search.h"
#include "exec/cuda/kernels/sparse.h"
#include "exec/functors/unary.h"

namespace lanescope::exec::cuda {
namespace {

// What a row of segment `id` passes on; the numbers are sorted.
template <typename T>
__device__ T WeightOf(Scaling scaling, const IndexReader& ids, int64_t updates, int64_t id) {
  if (scaling == Scaling::kNone) return T(1);
  const auto rows = static_cast<T>(UpperBound(ids, updates, id) - LowerBound(ids, updates, id));
  return scaling == Scaling::kMean ? T(1) / rows : functors::Rsqrt()(rows);
}

// The thread of the first update of a row adds up all of that row, in order.
template <typename T>
__global__ void SegmentGradKernel(SegmentGrad spec, SortedUpdates sorted, Divider inner, IndexReader ids,
                                  const T* grad, T* result) {
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
    result[static_cast<int64_t>(row) * width + column] = total;
  }
}

template <typename T>
void Run(Launch& launch, const SegmentGrad& spec, IndexReader row_of, IndexReader ids, const void* grad,
         void* result) {
  ZeroBytes(launch, result, spec.rows * spec.inner * static_cast<int64_t>(sizeof(T)));
  if (spec.rows * spec.updates * spec.inner == 0) return;
  const SortedUpdates sorted = SortUpdates(launch, 0, spec.rows, spec.updates, row_of);
  SegmentGradKernel<T><<<BlocksFor(spec.updates * spec.inner), kThreads, 0, launch.stream()>>>(
      spec, sorted, Divider(spec.inner), ids, static_cast<const T*>(grad), static_cast<T*>(result));
  CheckLaunch("a gradient of sums of rows");
}

}  // namespace

void RunSegmentGrad(Launch& launch, const SegmentGrad& spec, bool doubles, IndexReader row_of,
                    IndexReader ids, const void* grad, void* result) {
  (doubles ? Run<double> : Run<float>)(launch, spec, row_of, ids, grad, result);
}

}  // namespace lanescope::exec::cuda
