// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/segment_plan.h"

#include "core/graph/ops/segment.h"

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

}  // namespace

UnsortedSegmentOp::UnsortedSegmentOp(const Node& node) : how_(CombineOf(node.op)) {}

UnsortedSegments UnsortedSegmentOp::Plan(KernelContext& context) const {
  const Shape& data = context.input(0).shape;
  const Shape& ids = context.input(1).shape;
  const Shape result = ops::UnsortedSegmentShape(data, ids, NumbersOf(context.input(2)));
  ShapeOutput(context, 0, result);
  return {how_, ids.NumElements(), SizeOfDims(data, ids.rank(), data.rank()), result[0]};
}

SegmentOp::SegmentOp(const Node& node)
    : how_(CombineOf(node.op)), scaling_(ScalingOf(node.op)), indexed_(node.op.starts_with("Sparse")) {}

SortedSegments SegmentOp::Plan(KernelContext& context,
                               const std::function<int64_t(const TensorRef&)>& last) const {
  const Shape& data = context.input(0).shape;
  const TensorRef& numbers = ids(context);
  const bool given = context.num_inputs() == 4;
  int64_t segments = given ? ops::GivenCount("num_segments", NumbersOf(context.input(3))) : 0;
  Shape result = indexed_ ? ops::PickedSegmentShape(data, context.input(1).shape, numbers.shape, segments)
                          : ops::SegmentShape(data, numbers.shape, segments);
  if (!given && numbers.NumElements() > 0) {
    segments = AddDims(last(numbers), 1);
    if (segments < 0) Throw(Code::kInvalidArgument, "segment ids must be >= 0");
    result.set_dim(0, segments);
  }
  ShapeOutput(context, 0, result);
  // Gaps hold the identity of a sum or a product; TensorFlow leaves 0 for extremes.
  return {how_,
          scaling_,
          numbers.NumElements(),
          data[0],
          SizeOfDims(data, 1, data.rank()),
          segments,
          how_ == Combine::kMul ? 1 : 0};
}

SegmentGradOp::SegmentGradOp(const Node& node) : scaling_(ScalingOf(node.op)) {}

SegmentGrad SegmentGradOp::Plan(KernelContext& context) const {
  const Shape& grad = context.input(0).shape;
  const Shape& indices = context.input(1).shape;
  const bool all = context.num_outputs() == 1;
  const Dim rows = ops::GivenCount(all ? "output_dim0" : "dense_output_dim0", NumbersOf(context.input(3)));
  const Shape result = ops::PickedSegmentShape(grad, indices, context.input(2).shape, rows);
  if (all) ShapeOutput(context, 0, result);
  return {scaling_, rows, indices[0], SizeOfDims(grad, 1, grad.rank()), grad[0]};
}

}  // namespace lanescope::exec
