// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/join_plan.h"

namespace lanescope::exec {
namespace {

// Inputs first..first+count-1 one after the other along an axis.
PartsPlan ConcatInputs(KernelContext& context, int first, int count, int64_t requested_axis) {
  std::vector<Shape> parts;
  for (int i = first; i < first + count; ++i) parts.push_back(context.input(i).shape);
  const Shape shape = ops::JoinedShape(parts, requested_axis);
  ShapeOutput(context, 0, shape);
  const int axis = NormalizeAxis(requested_axis, shape.rank());
  PartsPlan plan{first, SizeOfDims(shape, 0, axis), {}};
  for (const Shape& part : parts) plan.runs.push_back(SizeOfDims(part, axis, part.rank()));
  return plan;
}

// Cuts input `input` along `axis` into pieces of the given sizes, which add up to its dimension.
PartsPlan SplitInto(KernelContext& context, int input, int axis, const std::vector<int64_t>& sizes) {
  Shape shape = context.input(input).shape;
  PartsPlan plan;
  plan.first = input;
  plan.rows = SizeOfDims(shape, 0, axis);
  const int64_t inner = SizeOfDims(shape, axis + 1, shape.rank());
  for (int i = 0; i < context.num_outputs(); ++i) {
    const int64_t size = sizes[static_cast<size_t>(i)];
    shape.set_dim(axis, size);
    ShapeOutput(context, i, shape);
    plan.runs.push_back(size * inner);
  }
  return plan;
}

int SplitAxis(const TensorRef& x, const TensorRef& split_dim) {
  const int rank = x.shape.rank();
  const int64_t axis = ReadInt(split_dim, "split_dim");
  if (axis < -rank || axis >= rank) {
    Throw(Code::kInvalidArgument, "-input rank(-{}) <= split_dim < input rank ({}), but got {}", rank, rank,
          axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// In [0, rank).
int PackedAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    Throw(Code::kInvalidArgument, "axis = {} not in [{}, {})", axis, -rank, rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace

PartsPlan PlanConcat(KernelContext& context) {
  return ConcatInputs(context, 1, context.num_inputs() - 1, ReadInt(context.input(0), "concat_dim"));
}

PartsPlan PlanConcatV2(KernelContext& context) {
  const int last = context.num_inputs() - 1;
  return ConcatInputs(context, 0, last, ReadInt(context.input(last), "axis"));
}

PartsPlan PackOp::Plan(KernelContext& context) const {
  Shape shape = context.input(0).shape;
  const int count = context.num_inputs();
  const int axis = PackedAxis(axis_, shape.rank() + 1);
  for (int i = 1; i < count; ++i) {
    if (!(context.input(i).shape == shape)) {
      Throw(Code::kInvalidArgument,
            "Shapes of all inputs must match: values[0].shape = {} != values[{}].shape = {}",
            shape.ToString(), i, context.input(i).shape.ToString());
    }
  }
  PartsPlan plan;
  plan.rows = SizeOfDims(shape, 0, axis);
  plan.runs.assign(static_cast<size_t>(count), SizeOfDims(shape, axis, shape.rank()));
  shape.Insert(axis, count);
  ShapeOutput(context, 0, shape);
  return plan;
}

PartsPlan UnpackOp::Plan(KernelContext& context) const {
  Shape shape = context.input(0).shape;
  const int axis = PackedAxis(axis_, shape.rank());
  const int count = context.num_outputs();
  if (shape[axis] != count) {
    Throw(Code::kInvalidArgument, "Input shape axis {} must equal {}, got shape {}", axis, count,
          shape.ToString());
  }
  shape.Erase(axis);
  for (int i = 0; i < count; ++i) ShapeOutput(context, i, shape);
  PartsPlan plan;
  plan.rows = SizeOfDims(shape, 0, axis);
  plan.runs.assign(static_cast<size_t>(count), SizeOfDims(shape, axis, shape.rank()));
  return plan;
}

PartsPlan PlanSplit(KernelContext& context) {
  const TensorRef& x = context.input(1);
  const int axis = SplitAxis(x, context.input(0));
  const int64_t ways = context.num_outputs();
  if (ways == 0 || x.shape[axis] % ways != 0) {
    Throw(
        Code::kInvalidArgument,
        "Number of ways to split should evenly divide the split dimension, but got split_dim {} (size = {}) "
        "and num_split {}",
        axis, x.shape[axis], ways);
  }
  return SplitInto(context, 1, axis, std::vector<int64_t>(static_cast<size_t>(ways), x.shape[axis] / ways));
}

PartsPlan PlanSplitV(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int axis = SplitAxis(x, context.input(2));
  std::vector<int64_t> sizes = ReadInts(context.input(1));
  if (sizes.size() != static_cast<size_t>(context.num_outputs())) {
    Throw(Code::kInvalidArgument, "size_splits has {} entries, but num_split is {}", sizes.size(),
          context.num_outputs());
  }
  int64_t sum = 0;
  int unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && unknown < 0) {
      unknown = static_cast<int>(i);
    } else if (sizes[i] == -1) {
      Throw(Code::kInvalidArgument, "There can only be one -1 in the input.");
    } else if (sizes[i] < 0) {
      Throw(Code::kInvalidArgument, "Split size at index {} must be >= 0. Got: {}", i, sizes[i]);
    } else {
      sum = AddDims(sum, sizes[i]);
    }
  }
  if (unknown >= 0 ? sum > x.shape[axis] : sum != x.shape[axis]) {
    Throw(Code::kInvalidArgument,
          "Determined shape must either match input shape along split_dim exactly if fully specified, or be "
          "less than the size of the input along split_dim if not fully specified.  Got: {}",
          sum);
  }
  if (unknown >= 0) sizes[static_cast<size_t>(unknown)] = x.shape[axis] - sum;
  return SplitInto(context, 0, axis, sizes);
}

}  // namespace lanescope::exec
