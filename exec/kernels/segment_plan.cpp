#include "exec/kernels/segment_plan.h"

namespace lanescope::exec {
namespace {

// Sum, Mean and SqrtN add.
Combine CombineOf(std::string_view op) {
  if (op.ends_with("Prod")) return Combine::kMul;
  if (op.ends_with("Max")) return Combine::kMax;
  return op.ends_with("Min") ? Combine::kMin : Combine::kAdd;
}

Scaling ScalingOf(std::string_view op) {
  if (op.find("Mean") != op.npos) return Scaling::kMean;
  return op.find("SqrtN") != op.npos ? Scaling::kSquareRoot : Scaling::kNone;
}

void RequireNumbers(std::string_view name, const TensorRef& tensor) {
  if (tensor.shape.rank() != 1) Throw(Code::kInvalidArgument, "{} should be a vector.", name);
}

void RequireRows(const TensorRef& data) {
  if (data.shape.rank() < 1) Throw(Code::kInvalidArgument, "input must be at least rank 1");
}

// Gives output 0 `rows` rows like those of `data`; returns the elements of one.
int64_t ShapeRows(KernelContext& context, const Shape& data, int64_t rows) {
  Shape shape = data;
  shape.set_dim(0, rows);
  ShapeOutput(context, 0, shape);
  return SizeOfDims(data, 1, data.rank());
}

}  // namespace

UnsortedSegmentOp::UnsortedSegmentOp(const Node& node) : how_(CombineOf(node.op)) {}

UnsortedSegments UnsortedSegmentOp::Plan(KernelContext& context) const {
  const Shape& data = context.input(0).shape;
  const Shape& ids = context.input(1).shape;
  RequireScalar("num_segments", context.input(2));
  const int64_t segments = ReadInt(context.input(2), "num_segments");
  if (segments < 0) {
    Throw(Code::kInvalidArgument, "Input num_segments == {} must not be negative.", segments);
  }
  if (!StartsWith(data, ids)) {
    Throw(Code::kInvalidArgument, "data.shape = {} does not start with segment_ids.shape = {}",
          data.ToString(), ids.ToString());
  }
  Shape shape{segments};
  for (int d = ids.rank(); d < data.rank(); ++d) shape.Append(data[d]);
  ShapeOutput(context, 0, shape);
  return {how_, ids.NumElements(), SizeOfDims(data, ids.rank(), data.rank()), segments};
}

SegmentOp::SegmentOp(const Node& node)
    : how_(CombineOf(node.op)), scaling_(ScalingOf(node.op)), indexed_(node.op.starts_with("Sparse")) {}

SortedSegments SegmentOp::Plan(KernelContext& context,
                               const std::function<int64_t(const TensorRef&)>& last) const {
  const TensorRef& data = context.input(0);
  const TensorRef& numbers = ids(context);
  RequireRows(data);
  SortedSegments plan{how_, scaling_, numbers.NumElements(), data.shape[0]};
  const bool given = context.num_inputs() == 4;
  if (given) {
    RequireScalar("num_segments", context.input(3));
    plan.segments = ReadInt(context.input(3), "num_segments");
  }
  if (plan.segments < 0) {
    Throw(Code::kInvalidArgument, "num_segments must be >= 0, got {}", plan.segments);
  }
  RequireNumbers("segment_ids", numbers);
  if (indexed_) RequireNumbers("indices", context.input(1));
  if (indexed_ && context.input(1).NumElements() != plan.rows) {
    Throw(Code::kInvalidArgument, "segment_ids and indices should have same size.");
  }
  if (!indexed_ && plan.data_rows != plan.rows) {
    Throw(Code::kInvalidArgument, "segment_ids should be the same size as dimension 0 of input.");
  }
  if (!given && plan.rows > 0) plan.segments = AddDims(last(numbers), 1);
  if (plan.segments < 0) Throw(Code::kInvalidArgument, "segment ids must be >= 0");
  plan.inner = ShapeRows(context, data.shape, plan.segments);
  // Gaps hold the identity of a sum or a product; TensorFlow leaves 0 for extremes.
  plan.empty = how_ == Combine::kMul ? 1 : 0;
  return plan;
}

SegmentGradOp::SegmentGradOp(const Node& node) : scaling_(ScalingOf(node.op)) {}

SegmentGrad SegmentGradOp::Plan(KernelContext& context) const {
  const TensorRef& grad = context.input(0);
  RequireRows(grad);
  RequireNumbers("indices", context.input(1));
  RequireNumbers("segment_ids", context.input(2));
  if (context.input(3).shape.rank() != 0) Throw(Code::kInvalidArgument, "output_dim0 should be a scalar.");
  if (!(context.input(1).shape == context.input(2).shape)) {
    Throw(Code::kInvalidArgument, "segment_ids and indices should have same size.");
  }
  SegmentGrad plan{scaling_, ReadInt(context.input(3), "output_dim0"), context.input(1).NumElements()};
  if (plan.rows < 0) Throw(Code::kInvalidArgument, "Expected a non-negative size, got {}", plan.rows);
  plan.segments = grad.shape[0];
  plan.inner = ShapeRows(context, grad.shape, plan.rows);
  return plan;
}

}  // namespace lanescope::exec
