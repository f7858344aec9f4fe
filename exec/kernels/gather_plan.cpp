#include "exec/kernels/gather_plan.h"

#include <algorithm>

namespace lanescope::exec {
namespace {

int CheckBatchDims(int64_t batch_dims, const Shape& params, const Shape& indices, int axis) {
  const int rank = indices.rank();
  if (batch_dims < -rank || batch_dims > rank) {
    Throw(Code::kInvalidArgument, "Expected batch_dims in the range [{}, {}], but got {}", -rank, rank,
          batch_dims);
  }
  const int batch = static_cast<int>(batch_dims < 0 ? batch_dims + rank : batch_dims);
  if (batch > axis) {
    Throw(Code::kInvalidArgument, "batch_dims ({}) must be less than or equal to axis ({}).", batch, axis);
  }
  for (int d = 0; d < batch; ++d) {
    if (params[d] != indices[d]) {
      Throw(Code::kInvalidArgument, "params.shape[{}]: {} should be equal to indices.shape[{}]: {}", d,
            params[d], d, indices[d]);
    }
  }
  return batch;
}

GatherPlan GatherAlong(KernelContext& context, const TensorRef& params, int axis, int64_t batch_dims) {
  const TensorRef& indices = context.input(1);
  const int batch = CheckBatchDims(batch_dims, params.shape, indices.shape, axis);
  const int rank = params.shape.rank();
  const int index_rank = indices.shape.rank();
  Shape shape;
  for (int d = 0; d < axis; ++d) shape.Append(params.shape[d]);
  for (int d = batch; d < index_rank; ++d) shape.Append(indices.shape[d]);
  for (int d = axis + 1; d < rank; ++d) shape.Append(params.shape[d]);
  ShapeOutput(context, 0, shape);
  return {&params,
          &indices,
          SizeOfDims(params.shape, 0, batch),
          SizeOfDims(params.shape, batch, axis),
          params.shape[axis],
          SizeOfDims(params.shape, axis + 1, rank),
          SizeOfDims(indices.shape, batch, index_rank)};
}

}  // namespace

GatherPlan GatherOp::Plan(KernelContext& context) const {
  const TensorRef& params = context.input(0);
  const int rank = params.shape.rank();
  if (rank < 1) Throw(Code::kInvalidArgument, "params must be at least 1 dimensional");
  const int axis = context.num_inputs() == 3 ? NormalizeAxis(ReadInt(context.input(2), "axis"), rank) : 0;
  return GatherAlong(context, params, axis, batch_dims_);
}

GatherPlan ResourceGatherOp::Plan(KernelContext& context) const {
  const TensorRef& params = context.variable(0).tensor;
  if (params.shape.rank() < 1 || batch_dims_ < 0 || batch_dims_ >= params.shape.rank()) {
    Throw(Code::kInvalidArgument, "params must be at least {} dimensional",
          std::max<int64_t>(0, batch_dims_) + 1);
  }
  return GatherAlong(context, params, static_cast<int>(batch_dims_), batch_dims_);
}

CoordinateRows CoordinatesOf(std::string_view name, const Shape& indices, const Shape& shape) {
  const int last = indices.rank() - 1;
  if (last < 0) Throw(Code::kInvalidArgument, "{} must be at least a vector", name);
  if (indices[last] > shape.rank()) {
    Throw(Code::kInvalidArgument, "index innermost dimension length must be <= params rank; saw: {} vs. {}",
          indices[last], shape.rank());
  }
  CoordinateRows rows;
  rows.depth = static_cast<int>(indices[last]);
  for (int d = 0; d < last; ++d) rows.outer.Append(indices[d]);
  rows.rows = rows.outer.NumElements();
  rows.row_size = SizeOfDims(shape, rows.depth, shape.rank());
  rows.result = rows.outer;
  for (int d = rows.depth; d < shape.rank(); ++d) rows.result.Append(shape[d]);
  return rows;
}

CoordinateRows PlanGatherNd(KernelContext& context) {
  const CoordinateRows rows = CoordinatesOf("indices", context.input(1).shape, context.input(0).shape);
  ShapeOutput(context, 0, rows.result);
  return rows;
}

}  // namespace lanescope::exec
