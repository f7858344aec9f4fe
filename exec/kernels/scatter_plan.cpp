// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/scatter_plan.h"

namespace lanescope::exec {
namespace {

Combine UpdateOf(std::string_view op) {
  if (op.ends_with("Update")) return Combine::kAssign;
  if (op.ends_with("Sub")) return Combine::kSub;
  if (op.ends_with("Mul")) return Combine::kMul;
  if (op.ends_with("Div")) return Combine::kDiv;
  if (op.ends_with("Min")) return Combine::kMin;
  return op.ends_with("Max") ? Combine::kMax : Combine::kAdd;
}

}  // namespace

RowScatterOp::RowScatterOp(const Node& node) : how_(UpdateOf(node.op)) {}

RowScatter RowScatterOp::Plan(KernelContext& context) const {
  const TensorRef& variable = context.variable(0).tensor;
  const TensorRef& indices = context.input(1);
  const TensorRef& updates = context.input(2);
  ops::CheckRowUpdates(variable.shape, indices.shape, updates.shape);
  const bool scalar = updates.shape.rank() == 0;
  return {how_,          variable, indices, updates, SizeOfDims(variable.shape, 1, variable.shape.rank()),
          scalar ? 0 : 1};
}

CoordinateScatterOp::CoordinateScatterOp(const Node& node)
    : start_(node.op == "ScatterNd"                 ? Start::kZeros
             : node.op.starts_with("TensorScatter") ? Start::kTensor
                                                    : Start::kVariable),
      how_(UpdateOf(node.op)) {}

CoordinateScatter CoordinateScatterOp::Plan(KernelContext& context) const {
  const int first = start_ == Start::kZeros ? 0 : 1;
  const TensorRef& indices = context.input(first);
  const TensorRef& updates = context.input(first + 1);
  const Shape shape = start_ == Start::kZeros    ? ReadShape(context.input(2))
                      : start_ == Start::kTensor ? context.input(0).shape
                                                 : context.variable(0).tensor.shape;
  ops::CheckUpdates(indices.shape, updates.shape, shape);
  const CoordinateRows rows = CoordinatesOf("indices", indices.shape, shape);
  if (start_ == Start::kVariable) {
    const TensorRef& variable = context.variable(0).tensor;
    return {how_, indices, updates, variable, &variable, rows};
  }
  ShapeOutput(context, 0, shape);
  const TensorRef* start = start_ == Start::kTensor ? &context.input(0) : nullptr;
  return {how_, indices, updates, context.output(), start, rows};
}

CoordinateRows PlanSparseToDense(KernelContext& context) {
  const Shape& indices = context.input(0).shape;
  const Shape shape =
      ops::DenseShape(indices, NumbersOf(context.input(1)), context.input(2).shape, context.input(3).shape);
  ShapeOutput(context, 0, shape);
  const Shape rows{indices.rank() == 0 ? 1 : indices[0], indices.rank() == 2 ? indices[1] : 1};
  return CoordinatesOf("sparse_indices", rows, shape);
}

}  // namespace lanescope::exec
