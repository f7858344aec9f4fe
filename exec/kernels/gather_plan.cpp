#include "exec/kernels/gather_plan.h"

#include <algorithm>

namespace lanescope::exec {
namespace {

GatherPlan PlanAlong(KernelContext& context, const TensorRef& params, int64_t axis_given,
                     int64_t batch_dims) {
  const TensorRef& indices = context.input(1);
  const auto [axis, batch, shape] = ops::GatherAlong(params.shape, indices.shape, axis_given, batch_dims);
  ShapeOutput(context, 0, shape);
  return {&params,
          &indices,
          SizeOfDims(params.shape, 0, batch),
          SizeOfDims(params.shape, batch, axis),
          params.shape[axis],
          SizeOfDims(params.shape, axis + 1, params.shape.rank()),
          SizeOfDims(indices.shape, batch, indices.shape.rank())};
}

}  // namespace

GatherPlan GatherOp::Plan(KernelContext& context) const {
  const int64_t axis = context.num_inputs() == 3 ? ReadInt(context.input(2), "axis") : 0;
  return PlanAlong(context, context.input(0), axis, batch_dims_);
}

GatherPlan ResourceGatherOp::Plan(KernelContext& context) const {
  const TensorRef& params = context.variable(0).tensor;
  if (params.shape.rank() < 1 || batch_dims_ < 0 || batch_dims_ >= params.shape.rank()) {
    Throw(Code::kInvalidArgument, "params must be at least {} dimensional",
          std::max<int64_t>(0, batch_dims_) + 1);
  }
  return PlanAlong(context, params, batch_dims_, batch_dims_);
}

CoordinateRows CoordinatesOf(std::string_view name, const Shape& indices, const Shape& shape) {
  const int last = indices.rank() - 1;
  ops::CheckPicks(name, indices, shape);
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
