// SPDX-License-Identifier: Apache-2.0
// Updates of a variable's rows by index, on host memory.
#include <type_traits>

#include "exec/kernels/row_access.h"
#include "exec/kernels/scatter_plan.h"
#include "exec/kernels/state_kernels.h"

namespace lanescope::exec {
namespace {

template <typename T>
void RefuseZeroDivisors(const TensorRef& updates) {
  const T* values = updates.as<T>();
  if (std::find(values, values + updates.NumElements(), T{0}) != values + updates.NumElements()) {
    Throw(Code::kInvalidArgument, "Integer division by zero");
  }
}

template <typename T, typename Index>
void UpdateRows(const RowScatter& plan, WorkerTeam& team) {
  const auto& [how, variable, indices, updates, inner, step] = plan;
  const int64_t count = indices.NumElements();
  const int64_t row_bytes = std::min<int64_t>(inner, 256) * static_cast<int64_t>(sizeof(T));
  const RowUpdate<T> update(how);
  const Index* rows = indices.as<Index>();
  const auto row_of = [&](int64_t i) { return static_cast<int64_t>(rows[i]); };
  const RowRanges ranges(variable.shape[0], count, inner, row_of);
  ranges.ForEach(team, [&](int64_t, int64_t, std::span<const int64_t> own) {
    for (size_t k = 0; k < own.size(); ++k) {
      if (k + kPrefetchRows < own.size()) {
        const int64_t next = own[k + kPrefetchRows];
        PrefetchRow(variable.as<T>() + row_of(next) * inner, row_bytes);
        if (step != 0) PrefetchRow(updates.as<T>() + next * inner, row_bytes);
      }
      update(inner, variable.as<T>() + row_of(own[k]) * inner, updates.as<T>() + own[k] * inner * step, step);
    }
  });
}

void ScatterRows(KernelContext& context, const RowScatter& plan) {
  CheckIndices("indices", plan.indices, plan.variable.shape[0]);
  if (plan.indices.NumElements() == 0) return;
  DispatchIndex("ScatterUpdate", plan.indices.dtype, [&](auto index) {
    DispatchNumber("ScatterUpdate", plan.variable.dtype, [&](auto tag) {
      using T = decltype(tag);
      if (std::is_integral_v<T> && plan.how == Combine::kDiv) RefuseZeroDivisors<T>(plan.updates);
      UpdateRows<T, decltype(index)>(plan, context.team());
    });
  });
}

}  // namespace

void RegisterScatterUpdateKernels(KernelRegistry& registry) { RegisterRowScatterOps<ScatterRows>(registry); }

}  // namespace lanescope::exec
