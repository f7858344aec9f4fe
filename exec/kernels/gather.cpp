// Rows by index: Gather, GatherV2, GatherNd, and ResourceGather, which reads a variable.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/row_access.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// params viewed as [batch, outer, dimension, inner], indices as [batch, per_batch].
struct GatherDims {
  int64_t batch, outer, dimension, inner, per_batch;
};

template <typename T, typename Index>
void GatherRows(const GatherDims& dims, const T* params, const Index* indices, T* out, WorkerTeam& team) {
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

void Gather(KernelContext& context, const TensorRef& params, const TensorRef& indices, int axis,
            int batch_dims) {
  Shape shape;
  for (int d = 0; d < axis; ++d) shape.Append(params.shape[d]);
  for (int d = batch_dims; d < indices.shape.rank(); ++d) shape.Append(indices.shape[d]);
  for (int d = axis + 1; d < params.shape.rank(); ++d) shape.Append(params.shape[d]);
  ShapeOutput(context, 0, shape);
  const GatherDims dims = {SizeOfDims(params.shape, 0, batch_dims),
                           SizeOfDims(params.shape, batch_dims, axis), params.shape[axis],
                           SizeOfDims(params.shape, axis + 1, params.shape.rank()),
                           SizeOfDims(indices.shape, batch_dims, indices.shape.rank())};
  CheckIndices("indices", indices, dims.dimension);
  if (shape.NumElements() == 0) return;
  DispatchIndex("Gather", indices.dtype, [&](auto index) {
    using Index = decltype(index);
    DispatchBySize(params.dtype, [&](auto tag) {
      using T = decltype(tag);
      GatherRows(dims, params.as<T>(), indices.as<Index>(), context.output().as<T>(), context.team());
    });
  });
}

int CheckBatchDims(int64_t batch_dims, const TensorRef& params, const TensorRef& indices, int axis) {
  const int rank = indices.shape.rank();
  if (batch_dims < -rank || batch_dims > rank) {
    Throw(Code::kInvalidArgument, "Expected batch_dims in the range [{}, {}], but got {}", -rank, rank,
          batch_dims);
  }
  const int batch = static_cast<int>(batch_dims < 0 ? batch_dims + rank : batch_dims);
  if (batch > axis) {
    Throw(Code::kInvalidArgument, "batch_dims ({}) must be less than or equal to axis ({}).", batch, axis);
  }
  for (int d = 0; d < batch; ++d) {
    if (params.shape[d] != indices.shape[d]) {
      Throw(Code::kInvalidArgument, "params.shape[{}]: {} should be equal to indices.shape[{}]: {}", d,
            params.shape[d], d, indices.shape[d]);
    }
  }
  return batch;
}

class GatherKernel : public Kernel {
 public:
  explicit GatherKernel(const Node& node) : batch_dims_(node.IntAttr("batch_dims", 0)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& params = context.input(0);
    const TensorRef& indices = context.input(1);
    if (params.shape.rank() < 1) Throw(Code::kInvalidArgument, "params must be at least 1 dimensional");
    const int axis =
        context.num_inputs() == 3 ? NormalizeAxis(ReadInt(context.input(2), "axis"), params.shape.rank()) : 0;
    const int batch = batch_dims_ == 0 ? 0 : CheckBatchDims(batch_dims_, params, indices, axis);
    Gather(context, params, indices, axis, batch);
  }

 private:
  int64_t batch_dims_;
};

class ResourceGatherKernel : public Kernel {
 public:
  explicit ResourceGatherKernel(const Node& node) : batch_dims_(node.IntAttr("batch_dims", 0)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& params = context.variable(0).tensor;
    const TensorRef& indices = context.input(1);
    if (params.shape.rank() < 1 || batch_dims_ < 0 || batch_dims_ >= params.shape.rank()) {
      Throw(Code::kInvalidArgument, "params must be at least {} dimensional",
            std::max<int64_t>(0, batch_dims_) + 1);
    }
    const int axis = static_cast<int>(batch_dims_);
    Gather(context, params, indices, axis, CheckBatchDims(batch_dims_, params, indices, axis));
  }

 private:
  int64_t batch_dims_;
};

void ComputeGatherNd(KernelContext& context) {
  const TensorRef& params = context.input(0);
  const TensorRef& indices = context.input(1);
  const RowIndex rows = ResolveRowIndex("indices", indices, params.shape, "param shape");
  ShapeOutput(context, 0, rows.result_shape);
  DispatchBySize(params.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* in = params.as<T>();
    T* out = context.output().as<T>();
    const int64_t grain =
        std::max<int64_t>(1, kRowBlockBytes / (std::max<int64_t>(1, rows.row_size) * int64_t{sizeof(T)}));
    context.team().ParallelFor(
        static_cast<int64_t>(rows.offsets.size()), grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            std::copy_n(in + rows.offsets[static_cast<size_t>(i)], rows.row_size, out + i * rows.row_size);
          }
        });
  });
}

}  // namespace

void RegisterGatherKernels(KernelRegistry& registry) {
  registry.Register("Gather", MakeKernel<GatherKernel>);
  registry.Register("GatherV2", MakeKernel<GatherKernel>);
  registry.Register("ResourceGather", MakeKernel<ResourceGatherKernel>);
  registry.Register("GatherNd", MakeFunctionKernel<ComputeGatherNd>);
}

}  // namespace lanescope::exec
