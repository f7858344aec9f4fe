// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/gather_plan.h"

namespace lanescope::exec {
namespace {

GatherPlan PlanBy(KernelContext& context, const TensorRef& params, const ops::GatherRule& rule) {
  const TensorRef& indices = context.input(1);
  const auto& [axis, batch, shape] = rule;
  ShapeOutput(context, 0, shape);
  return {&params,
          &indices,
          SizeOfDims(params.shape, 0, batch),
          SizeOfDims(params.shape, batch, axis),
          params.shape[axis],
          SizeOfDims(params.shape, axis + 1, params.shape.rank()),
          SizeOfDims(indices.shape, batch, indices.shape.rank())};
}

GatherNdPlan PlanNd(KernelContext& context, const TensorRef& params) {
  const CoordinateRows rows = CoordinatesOf("indices", context.input(1).shape, params.shape);
  ShapeOutput(context, 0, rows.result);
  return {&params, rows};
}

}  // namespace

GatherPlan GatherOp::Plan(KernelContext& context) const {
  const int64_t axis = context.num_inputs() == 3 ? ReadInt(context.input(2), "axis") : 0;
  const TensorRef& params = context.input(0);
  return PlanBy(context, params, ops::GatherAlong(params.shape, context.input(1).shape, axis, batch_dims_));
}

GatherPlan ResourceGatherOp::Plan(KernelContext& context) const {
  const TensorRef& params = context.variable(0).tensor;
  return PlanBy(context, params, ops::GatherRows(params.shape, context.input(1).shape, batch_dims_));
}

CoordinateRows CoordinatesOf(std::string_view name, const Shape& indices, const Shape& shape) {
  CoordinateRows rows;
  rows.result = ops::PickedShape(name, indices, shape);
  const int last = indices.rank() - 1;
  rows.depth = static_cast<int>(indices[last]);
  rows.outer = ops::SubShape(indices, 0, last);
  rows.rows = rows.outer.NumElements();
  rows.row_size = SizeOfDims(shape, rows.depth, shape.rank());
  return rows;
}

GatherNdPlan PlanGatherNd(KernelContext& context) { return PlanNd(context, context.input(0)); }

GatherNdPlan PlanResourceGatherNd(KernelContext& context) {
  return PlanNd(context, context.variable(0).tensor);
}

}  // namespace lanescope::exec
