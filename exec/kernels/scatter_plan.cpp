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

// TensorFlow's words for updates whose outer dimensions are not those of the indices.
void CheckOuterDims(const Shape& indices, const Shape& updates, const Shape& outer) {
  if (StartsWith(updates, outer)) return;
  Throw(Code::kInvalidArgument,
        "Dimensions [0,{}) of indices[shape={}] must match dimensions [0,{}) of updates[shape={}]",
        outer.rank(), indices.ToString(), outer.rank(), updates.ToString());
}

}  // namespace

RowScatterOp::RowScatterOp(const Node& node) : how_(UpdateOf(node.op)) {}

RowScatter RowScatterOp::Plan(KernelContext& context) const {
  const TensorRef& variable = context.variable(0).tensor;
  const TensorRef& indices = context.input(1);
  const TensorRef& updates = context.input(2);
  const int rank = variable.shape.rank();
  if (rank < 1) {
    Throw(Code::kInvalidArgument, "params must be at least 1-D, got shape {}", variable.shape.ToString());
  }
  Shape expected = indices.shape;
  for (int d = 1; d < rank; ++d) expected.Append(variable.shape[d]);
  const bool scalar = updates.shape.rank() == 0;
  if (!scalar && !(updates.shape == expected)) {
    Throw(Code::kInvalidArgument,
          "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = "
          "[], got updates.shape {}, indices.shape {}, params.shape {}",
          updates.shape.ToString(), indices.shape.ToString(), variable.shape.ToString());
  }
  return {how_, variable, indices, updates, SizeOfDims(variable.shape, 1, rank), scalar ? 0 : 1};
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
  const CoordinateRows rows = CoordinatesOf("indices", indices.shape, shape);
  CheckOuterDims(indices.shape, updates.shape, rows.outer);
  if (!(updates.shape == rows.result)) {
    Throw(Code::kInvalidArgument,
          "Must have updates.shape = indices.shape[:-1] + shape[indices.shape[-1]:], got updates.shape {}, "
          "indices.shape {}, shape {}",
          updates.shape.ToString(), indices.shape.ToString(), shape.ToString());
  }
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
  const Shape& sizes = context.input(1).shape;
  const Shape& values = context.input(2).shape;
  if (indices.rank() > 2) {
    Throw(Code::kInvalidArgument, "sparse_indices should be a scalar, vector, or matrix, got shape {}",
          indices.ToString());
  }
  const Shape rows{indices.rank() == 0 ? 1 : indices[0], indices.rank() == 2 ? indices[1] : 1};
  if (sizes.rank() != 1) {
    Throw(Code::kInvalidArgument, "output_shape must be rank 1, got shape {}", sizes.ToString());
  }
  if (sizes[0] != rows[1]) {
    Throw(Code::kInvalidArgument, "output_shape has incorrect number of elements: {} should be: {}", sizes[0],
          rows[1]);
  }
  if (values.rank() != 0 && !(values == Shape{rows[0]})) {
    Throw(Code::kInvalidArgument, "sparse_values has incorrect shape {}, should be [] or [{}]",
          values.ToString(), rows[0]);
  }
  if (context.input(3).shape.rank() != 0) {
    Throw(Code::kInvalidArgument, "default_value should be a scalar.");
  }
  const Shape shape = ReadShape(context.input(1));
  ShapeOutput(context, 0, shape);
  return CoordinatesOf("sparse_indices", rows, shape);
}

}  // namespace lanescope::exec
