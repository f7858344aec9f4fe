// SPDX-License-Identifier: Apache-2.0
// Rows by index, on host memory.
#include <algorithm>
#include <cstring>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/gather_plan.h"
#include "exec/kernels/row_access.h"

namespace lanescope::exec {
namespace {

template <typename T, typename Index>
void GatherRows(const GatherPlan& dims, const T* params, const Index* indices, T* out, WorkerTeam& team) {
  const int64_t rows = dims.batch * dims.outer * dims.per_batch;
  const int64_t grain = std::max<int64_t>(1, kRowBlockBytes / (dims.inner * static_cast<int64_t>(sizeof(T))));
  const bool plain = dims.batch * dims.outer == 1;  // rows of a table: no division for each row
  const auto source = [&, plain](int64_t row) {
    if (plain) return params + static_cast<int64_t>(indices[row]) * dims.inner;
    const int64_t plane = row / dims.per_batch;
    const int64_t at = plane / dims.outer * dims.per_batch + row % dims.per_batch;
    return params + (plane * dims.dimension + static_cast<int64_t>(indices[at])) * dims.inner;
  };
  const int64_t row_bytes = std::min<int64_t>(dims.inner * static_cast<int64_t>(sizeof(T)), 1024);
  team.ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (row + kPrefetchRows < end) PrefetchRow(source(row + kPrefetchRows), row_bytes);
      std::copy_n(source(row), dims.inner, out + row * dims.inner);
    }
  });
}

void GatherChecked(KernelContext& context, const GatherPlan& plan) {
  CheckIndices("indices", *plan.indices, plan.dimension);
  if (context.output().NumElements() == 0) return;
  DispatchIndex("Gather", plan.indices->dtype, [&](auto index) {
    using Index = decltype(index);
    DispatchBySize(plan.params->dtype, [&](auto tag) {
      using T = decltype(tag);
      GatherRows(plan, plan.params->as<T>(), plan.indices->as<Index>(), context.output().as<T>(),
                 context.team());
    });
  });
}

void GatherNd(KernelContext& context, const GatherNdPlan& gather) {
  const TensorRef& params = *gather.params;
  const CoordinateRows& plan = gather.rows;
  const std::vector<int64_t> offsets =
      RowOffsets("indices", plan, context.input(1), params.shape, "param shape");
  DispatchBySize(params.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* in = params.as<T>();
    T* out = context.output().as<T>();
    const int64_t size = plan.row_size;
    const int64_t grain =
        std::max<int64_t>(1, kRowBlockBytes / (std::max<int64_t>(1, size) * int64_t{sizeof(T)}));
    context.team().ParallelFor(plan.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::copy_n(in + offsets[static_cast<size_t>(i)], size, out + i * size);
      }
    });
  });
}

}  // namespace

void RegisterGatherKernels(KernelRegistry& registry) { RegisterGatherOps<GatherChecked, GatherNd>(registry); }

}  // namespace lanescope::exec
