// Updates of a variable's rows by index: ScatterAdd and its family, for references and for handles.
#include <type_traits>

#include "exec/kernels/row_access.h"
#include "exec/kernels/row_arithmetic.h"
#include "exec/kernels/state_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Updates have the shape indices.shape + variable.shape[1:], or are one number for all.
void CheckUpdateShape(const Shape& variable, const Shape& indices, const Shape& updates) {
  if (updates.rank() == 0) return;
  Shape expected = indices;
  for (int d = 1; d < variable.rank(); ++d) expected.Append(variable[d]);
  if (!(updates == expected)) {
    Throw(Code::kInvalidArgument,
          "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = "
          "[], got updates.shape {}, indices.shape {}, params.shape {}",
          updates.ToString(), indices.ToString(), variable.ToString());
  }
}

template <typename T>
void RefuseZeroDivisors(const TensorRef& updates) {
  const T* values = updates.as<T>();
  if (std::find(values, values + updates.NumElements(), T{0}) != values + updates.NumElements()) {
    Throw(Code::kInvalidArgument, "Integer division by zero");
  }
}

template <typename T, typename Index>
void UpdateRows(Combine how, const TensorRef& variable, const TensorRef& indices, const TensorRef& updates,
                WorkerTeam& team) {
  const int64_t inner = SizeOfDims(variable.shape, 1, variable.shape.rank());
  const int64_t count = indices.NumElements();
  const bool scalar = updates.shape.rank() == 0;
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
        if (!scalar) PrefetchRow(updates.as<T>() + next * inner, row_bytes);
      }
      update(inner, variable.as<T>() + row_of(own[k]) * inner,
             updates.as<T>() + (scalar ? 0 : own[k] * inner), scalar ? 0 : 1);
    }
  });
}

template <Combine how>
void ComputeScatter(KernelContext& context) {
  const TensorRef& variable = context.variable(0).tensor;
  const TensorRef& indices = context.input(1);
  const TensorRef& updates = context.input(2);
  if (variable.shape.rank() < 1) {
    Throw(Code::kInvalidArgument, "params must be at least 1-D, got shape {}", variable.shape.ToString());
  }
  CheckUpdateShape(variable.shape, indices.shape, updates.shape);
  CheckIndices("indices", indices, variable.shape[0]);
  if (indices.NumElements() == 0) return;
  DispatchIndex("ScatterUpdate", indices.dtype, [&](auto index) {
    DispatchNumber("ScatterUpdate", variable.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (how == Combine::kDiv && std::is_integral_v<T>) RefuseZeroDivisors<T>(updates);
      UpdateRows<T, decltype(index)>(how, variable, indices, updates, context.team());
    });
  });
}

template <Combine how>
void RegisterBoth(KernelRegistry& registry, const std::string& suffix) {
  registry.Register("Scatter" + suffix, MakeFunctionKernel<ComputeScatter<how>>);
  registry.Register("ResourceScatter" + suffix, MakeFunctionKernel<ComputeScatter<how>>);
}

}  // namespace

void RegisterScatterUpdateKernels(KernelRegistry& registry) {
  RegisterBoth<Combine::kAssign>(registry, "Update");
  RegisterBoth<Combine::kAdd>(registry, "Add");
  RegisterBoth<Combine::kSub>(registry, "Sub");
  RegisterBoth<Combine::kMul>(registry, "Mul");
  RegisterBoth<Combine::kDiv>(registry, "Div");
  RegisterBoth<Combine::kMin>(registry, "Min");
  RegisterBoth<Combine::kMax>(registry, "Max");
}

}  // namespace lanescope::exec
