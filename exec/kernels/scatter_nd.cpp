// Updates at coordinates: ScatterNd (into zeros) and TensorScatter* (into a copy of a tensor).
#include <type_traits>

#include "exec/kernels/row_access.h"
#include "exec/kernels/row_arithmetic.h"
#include "exec/kernels/sparse_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// TensorFlow's words for updates whose outer dimensions are not those of the indices.
void CheckOuterDims(const TensorRef& indices, const TensorRef& updates) {
  const int outer = indices.shape.rank() - 1;
  bool same = outer <= updates.shape.rank();
  for (int d = 0; same && d < outer; ++d) same = updates.shape[d] == indices.shape[d];
  if (same) return;
  Throw(Code::kInvalidArgument,
        "Dimensions [0,{}) of indices[shape={}] must match dimensions [0,{}) of updates[shape={}]", outer,
        indices.shape.ToString(), outer, updates.shape.ToString());
}

RowIndex ResolveUpdates(const TensorRef& indices, const TensorRef& updates, const Shape& shape) {
  RowIndex rows = ResolveRowIndex("indices", indices, shape, "shape");
  CheckOuterDims(indices, updates);
  if (!(updates.shape == rows.result_shape)) {
    Throw(Code::kInvalidArgument,
          "Must have updates.shape = indices.shape[:-1] + shape[indices.shape[-1]:], got "
          "updates.shape {}, indices.shape {}, shape {}",
          updates.shape.ToString(), indices.shape.ToString(), shape.ToString());
  }
  return rows;
}

template <typename T>
void ApplyUpdates(Combine how, const RowIndex& rows, const T* updates, T* out, int64_t size,
                  WorkerTeam& team) {
  if (rows.row_size == 0 || size == 0) return;
  const RowUpdate<T> update(how);
  const auto count = static_cast<int64_t>(rows.offsets.size());
  const RowRanges ranges(size / rows.row_size, count, rows.row_size,
                         [&](int64_t i) { return rows.offsets[static_cast<size_t>(i)] / rows.row_size; });
  ranges.ForEach(team, [&](int64_t, int64_t, std::span<const int64_t> own) {
    for (const int64_t i : own) {
      update(rows.row_size, out + rows.offsets[static_cast<size_t>(i)], updates + i * rows.row_size);
    }
  });
}

void ComputeScatterNd(KernelContext& context) {
  const TensorRef& updates = context.input(1);
  const Shape shape = ReadShape(context.input(2));
  const RowIndex rows = ResolveUpdates(context.input(0), updates, shape);
  ShapeOutput(context, 0, shape);
  const TensorRef& out = context.output();
  ZeroElements(out.dtype, out.data, out.NumElements(), context.team());
  DispatchNumber("ScatterNd", out.dtype, [&](auto tag) {
    using T = decltype(tag);
    ApplyUpdates<T>(Combine::kAdd, rows, updates.as<T>(), out.as<T>(), out.NumElements(), context.team());
  });
}

template <Combine how>
void ComputeTensorScatter(KernelContext& context) {
  const TensorRef& updates = context.input(2);
  const RowIndex rows = ResolveUpdates(context.input(1), updates, context.input(0).shape);
  CopyTensor(context, 0, 0);
  const TensorRef& out = context.output();
  DispatchNumber("TensorScatter", out.dtype, [&](auto tag) {
    using T = decltype(tag);
    ApplyUpdates<T>(how, rows, updates.as<T>(), out.as<T>(), out.NumElements(), context.team());
  });
}

// The variable itself is the output.
template <Combine how>
void ComputeScatterNdUpdate(KernelContext& context) {
  const TensorRef& variable = context.variable(0).tensor;
  const TensorRef& updates = context.input(2);
  const RowIndex rows = ResolveUpdates(context.input(1), updates, variable.shape);
  DispatchNumber("ScatterNdUpdate", variable.dtype, [&](auto tag) {
    using T = decltype(tag);
    ApplyUpdates<T>(how, rows, updates.as<T>(), variable.as<T>(), variable.NumElements(), context.team());
  });
}

}  // namespace

void RegisterScatterNdKernels(KernelRegistry& registry) {
  registry.Register("ScatterNd", MakeFunctionKernel<ComputeScatterNd>);
  registry.Register("ScatterNdUpdate", MakeFunctionKernel<ComputeScatterNdUpdate<Combine::kAssign>>);
  registry.Register("ScatterNdAdd", MakeFunctionKernel<ComputeScatterNdUpdate<Combine::kAdd>>);
  registry.Register("ScatterNdSub", MakeFunctionKernel<ComputeScatterNdUpdate<Combine::kSub>>);
  registry.Register("TensorScatterUpdate", MakeFunctionKernel<ComputeTensorScatter<Combine::kAssign>>);
  registry.Register("TensorScatterAdd", MakeFunctionKernel<ComputeTensorScatter<Combine::kAdd>>);
  registry.Register("TensorScatterSub", MakeFunctionKernel<ComputeTensorScatter<Combine::kSub>>);
  registry.Register("TensorScatterMin", MakeFunctionKernel<ComputeTensorScatter<Combine::kMin>>);
  registry.Register("TensorScatterMax", MakeFunctionKernel<ComputeTensorScatter<Combine::kMax>>);
}

}  // namespace lanescope::exec
