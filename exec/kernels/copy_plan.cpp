// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/copy_plan.h"

namespace lanescope::exec {
namespace {

ops::StridedSliceNumbers SliceNumbers(const KernelContext& context) {
  return {NumbersOf(context.input(1)), NumbersOf(context.input(2)), NumbersOf(context.input(3))};
}

// Calls add(count, dense stride, stride in the whole tensor) for every dimension of a slice of `whole`, and
// returns where the slice begins in it. An empty slice begins nowhere.
template <typename Add>
int64_t WalkSlice(const ops::StridedSlicePlan& slice, const Shape& whole, const Add& add) {
  const auto strides = StridesOf(whole);
  const auto dense = StridesOf(slice.sliced);
  int64_t first = 0;
  for (int d = 0; d < whole.rank(); ++d) {
    const auto at = static_cast<size_t>(d);
    const bool walks = slice.sliced[d] > 1;  // a stride without a step may be anything
    add(slice.sliced[d], dense[at], walks ? slice.stride[at] * strides[at] : 0);
    first += slice.begin[at] * strides[at];
  }
  return slice.sliced.NumElements() == 0 ? 0 : first;
}

}  // namespace

CopyPlan PlanTranspose(KernelContext& context) {
  const Shape& x = context.input(0).shape;
  if (const Shape& perm = context.input(1).shape; perm.rank() != 1)
    Throw(Code::kInvalidArgument, "perm must be rank 1, got shape {}", perm.ToString());
  const std::vector<int> axes = ops::Permutation(ReadInts(context.input(1)), x.rank());
  Shape shape;
  for (const int axis : axes) shape.Append(x[axis]);
  ShapeOutput(context, 0, shape);
  const auto from = StridesOf(x);
  const auto to = StridesOf(shape);
  CopyPlan plan;
  for (size_t d = 0; d < axes.size(); ++d) {
    plan.dims.push_back({shape[static_cast<int>(d)], to[d], from[static_cast<size_t>(axes[d])]});
  }
  return plan;
}

ConjugateTransposeOp::ConjugateTransposeOp(const Node& node) {
  const DataType dtype = node.TypeAttr("T");
  if (dtype == DataType::kComplex64 || dtype == DataType::kComplex128) ThrowUnsupportedType(node.op, dtype);
}

CopyPlan PlanTile(KernelContext& context) {
  const Shape& x = context.input(0).shape;
  const std::vector<int64_t> multiples = ReadInts(context.input(1));
  const Shape shape = ops::TiledShape(x, ReadElements(context.input(1)));
  ShapeOutput(context, 0, shape);
  const auto from = StridesOf(x);
  const auto to = StridesOf(shape);
  CopyPlan plan;
  for (int d = 0; d < x.rank(); ++d) {
    const auto at = static_cast<size_t>(d);
    plan.dims.push_back({multiples[at], x[d] * to[at], 0});
    plan.dims.push_back({x[d], to[at], from[at]});
  }
  return plan;
}

CopyPlan PlanBroadcastTo(KernelContext& context) {
  const Shape& x = context.input(0).shape;
  const Shape shape = ReadShape(context.input(1));
  ops::CheckBroadcast(x, shape);
  const int added = shape.rank() - x.rank();
  const auto from = StridesOf(x);
  const auto to = StridesOf(shape);
  CopyPlan plan;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool repeated = d < added || x[d - added] == 1;
    plan.dims.push_back(
        {shape[d], to[static_cast<size_t>(d)], repeated ? 0 : from[static_cast<size_t>(d - added)]});
  }
  ShapeOutput(context, 0, shape);
  return plan;
}

CopyPlan PlanReverse(KernelContext& context) {
  const Shape& x = context.input(0).shape;
  const int rank = x.rank();
  std::vector<bool> reversed(static_cast<size_t>(rank), false);
  const std::vector<int64_t> axes = ReadInts(context.input(1));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -rank || axes[i] >= rank) {
      Throw(Code::kInvalidArgument, "'axis'[{}] = {} is out of valid range [0, {}", i, axes[i], rank - 1);
    }
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]);
    if (reversed[axis]) Throw(Code::kInvalidArgument, "axis {} specified more than once.", axis);
    reversed[axis] = true;
  }
  ShapeOutput(context, 0, x);
  const auto strides = StridesOf(x);
  CopyPlan plan;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    plan.dims.push_back({x[d], strides[at], reversed[at] ? -strides[at] : strides[at]});
    if (reversed[at] && x[d] > 0) plan.from += (x[d] - 1) * strides[at];
  }
  return plan;
}

CopyPlan PlanSlice(KernelContext& context) {
  const Shape& x = context.input(0).shape;
  if (context.input(1).shape.rank() != 1 || context.input(2).shape.rank() != 1) {
    Throw(Code::kInvalidArgument,
          "Expected begin and size arguments to be 1-D tensors, but got shapes {} and {}",
          context.input(1).shape.ToString(), context.input(2).shape.ToString());
  }
  const std::vector<int64_t> begin = ReadInts(context.input(1));
  const Shape shape = ops::SlicedShape(x, ReadElements(context.input(1)), ReadElements(context.input(2)));
  ShapeOutput(context, 0, shape);
  const auto from = StridesOf(x);
  const auto to = StridesOf(shape);
  CopyPlan plan;
  for (int d = 0; d < x.rank(); ++d) {
    const auto at = static_cast<size_t>(d);
    plan.from += begin[at] * from[at];
    plan.dims.push_back({shape[d], to[at], from[at]});
  }
  return plan;
}

CopyPlan StridedSliceOp::Plan(KernelContext& context) const {
  const Shape& x = context.input(0).shape;
  const ops::StridedSlicePlan slice = *ops::PlanStridedSlice(x, masks_, SliceNumbers(context));
  ShapeOutput(context, 0, slice.result);
  CopyPlan plan;
  plan.from = WalkSlice(slice, x, [&](int64_t count, int64_t dense, int64_t whole) {
    plan.dims.push_back({count, dense, whole});
  });
  return plan;
}

CopyPlan StridedSliceGradOp::Plan(KernelContext& context) const {
  const Shape shape = ReadShape(context.input(0));
  const ops::StridedSlicePlan slice =
      *ops::PlanStridedSliceGrad(shape, masks_, SliceNumbers(context), context.input(4).shape);
  ShapeOutput(context, 0, shape);
  CopyPlan plan;
  plan.input = 4;
  plan.clear = true;
  plan.to = WalkSlice(slice, shape, [&](int64_t count, int64_t dense, int64_t whole) {
    plan.dims.push_back({count, whole, dense});
  });
  return plan;
}

// The channels of a pixel of the smaller image are [row in the block, column in the block, channel].
CopyPlan BlockOp::Plan(KernelContext& context) const {
  const Shape& x = context.input(0).shape;
  const Shape shape = rule_.ResultOf(x);
  ShapeOutput(context, 0, shape);
  const ops::ImageAxes& axes = rule_.axes();
  const bool to_space = rule_.to_space();
  const Shape& small = to_space ? x : shape;
  const Shape& large = to_space ? shape : x;
  const auto of_small = StridesOf(small), of_large = StridesOf(large);
  CopyPlan plan;
  const auto add = [&](int64_t count, int64_t in_small, int64_t in_large) {
    plan.dims.push_back(to_space ? CopyPlan::Dim{count, in_large, in_small}
                                 : CopyPlan::Dim{count, in_small, in_large});
  };
  const auto at = [](const auto& strides, int axis) { return strides[static_cast<size_t>(axis)]; };
  const int64_t block = rule_.block(), channels = large[axes.channel];
  const int64_t channel = at(of_small, axes.channel);
  const auto add_channels = [&] { add(channels, channel, at(of_large, axes.channel)); };
  add(small[axes.batch], at(of_small, axes.batch), at(of_large, axes.batch));
  if (axes.channel == 1) add_channels();
  add(small[axes.height], at(of_small, axes.height), block * at(of_large, axes.height));
  add(block, block * channels * channel, at(of_large, axes.height));
  add(small[axes.width], at(of_small, axes.width), block * at(of_large, axes.width));
  add(block, channels * channel, at(of_large, axes.width));
  if (axes.channel != 1) add_channels();
  return plan;
}

}  // namespace lanescope::exec
