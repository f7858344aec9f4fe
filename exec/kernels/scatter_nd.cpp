// SPDX-License-Identifier: Apache-2.0
// Updates at coordinates, on host memory.
#include "exec/kernels/row_access.h"
#include "exec/kernels/scatter_plan.h"
#include "exec/kernels/sparse_kernels.h"

namespace lanescope::exec {
namespace {

void UpdateAtCoordinates(KernelContext& context, const CoordinateScatter& plan) {
  const TensorRef& out = plan.target;
  const std::vector<int64_t> offsets = RowOffsets("indices", plan.rows, plan.indices, out.shape, "shape");
  const int64_t size = out.NumElements();
  WorkerTeam& team = context.team();
  if (plan.start == nullptr) {
    ZeroElements(out.dtype, out.data, size, team);
  } else {
    CopyElements(out.dtype, out.data, plan.start->data, size, team);
  }
  const int64_t inner = plan.rows.row_size;
  if (inner == 0 || size == 0) return;
  const RowRanges ranges(size / inner, plan.rows.rows, inner,
                         [&](int64_t i) { return offsets[static_cast<size_t>(i)] / inner; });
  DispatchNumber("ScatterNd", out.dtype, [&](auto tag) {
    using T = decltype(tag);
    const RowUpdate<T> update(plan.how);
    ranges.ForEach(team, [&](int64_t, int64_t, std::span<const int64_t> own) {
      for (const int64_t i : own) {
        update(inner, out.as<T>() + offsets[static_cast<size_t>(i)], plan.updates.as<T>() + i * inner);
      }
    });
  });
}

}  // namespace

void RegisterScatterNdKernels(KernelRegistry& registry) {
  RegisterCoordinateScatterOps<UpdateAtCoordinates>(registry);
}

}  // namespace lanescope::exec
