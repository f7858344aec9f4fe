#include "exec/kernels/view_plan.h"

namespace lanescope::exec {

WholeCopy PlanIdentity(KernelContext& context, int i) {
  ShapeOutput(context, i, context.input(i).shape);
  return {&context.input(i), i};
}

WholeCopy PlanReadVariable(KernelContext& context) {
  const TensorRef& variable = context.variable(0).tensor;
  ShapeOutput(context, 0, variable.shape);
  return {&variable};
}

WholeCopy PlanReshape(KernelContext& context) {
  const Shape& sizes = context.input(1).shape;
  if (sizes.rank() != 1) {
    Throw(Code::kInvalidArgument, "sizes input must be 1-D, not {}", sizes.ToString());
  }
  std::vector<int64_t> dims = ReadInts(context.input(1));
  int unknown = -1;
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (unknown >= 0) {
        Throw(Code::kInvalidArgument, "Only one input size may be -1, not both {} and {}", unknown, i);
      }
      unknown = static_cast<int>(i);
    } else if (dims[i] < 0) {
      Throw(Code::kInvalidArgument, "Size {} must be non-negative, not {}", i, dims[i]);
    } else {
      known = MulDims(known, dims[i]);
    }
  }
  const int64_t count = context.input(0).NumElements();
  if (unknown >= 0) {
    if (known == 0 ? count != 0 : count % known != 0) {
      Throw(Code::kInvalidArgument,
            "Input to reshape is a tensor with {} values, but the requested shape requires a multiple of {}",
            count, known);
    }
    dims[static_cast<size_t>(unknown)] = known == 0 ? 0 : count / known;
  } else if (known != count) {
    Throw(Code::kInvalidArgument,
          "Input to reshape is a tensor with {} values, but the requested shape has {}", count, known);
  }
  ShapeOutput(context, 0, Shape(std::span<const Dim>(dims)));
  return {&context.input(0)};
}

WholeCopy PlanExpandDims(KernelContext& context) {
  const int64_t axis = ReadInt(context.input(1), "the axis of ExpandDims");
  Shape shape = context.input(0).shape;
  const int rank = shape.rank();
  if (axis < -1 - rank || axis > rank) {
    Throw(Code::kInvalidArgument, "Tried to expand dim index {} for tensor with {} dimensions.", axis, rank);
  }
  shape.Insert(static_cast<int>(axis < 0 ? axis + rank + 1 : axis), 1);
  ShapeOutput(context, 0, shape);
  return {&context.input(0)};
}

SqueezeOp::SqueezeOp(const Node& node) {
  for (const char* attr : {"squeeze_dims", "axis"}) {
    if (node.FindAttr(attr) != nullptr) axes_ = node.IntListAttr(attr);
  }
}

WholeCopy SqueezeOp::Plan(KernelContext& context) const {
  const Shape& x = context.input(0).shape;
  const int rank = x.rank();
  std::vector<bool> chosen(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes_) {
    if (axis < -rank || axis >= rank) {
      Throw(Code::kInvalidArgument, "Tried to squeeze dim index {} for tensor with {} dimensions.", axis,
            rank);
    }
    chosen[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  Shape shape;
  for (int d = 0; d < rank; ++d) {
    const bool squeezed = axes_.empty() ? x[d] == 1 : chosen[static_cast<size_t>(d)];
    if (squeezed && x[d] != 1) {
      Throw(Code::kInvalidArgument, "Can not squeeze dim[{}], expected a dimension of 1, got {}", d, x[d]);
    }
    if (!squeezed) shape.Append(x[d]);
  }
  ShapeOutput(context, 0, shape);
  return {&context.input(0)};
}

WholeCopy PlanBitcast(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const DataType to = context.output().dtype;
  const auto before = static_cast<int64_t>(ElementSize(x.dtype));
  const auto after = static_cast<int64_t>(ElementSize(to));
  Shape shape = x.shape;
  if (before > after) {
    shape.Append(before / after);
  } else if (before < after) {
    const int last = shape.rank() - 1;
    if (last < 0 || shape[last] != after / before) {
      Throw(Code::kInvalidArgument, "Cannot bitcast from {} to {}: the shape is {}", DataTypeName(x.dtype),
            DataTypeName(to), shape.ToString());
    }
    shape.Erase(last);
  }
  ShapeOutput(context, 0, shape);
  return {&x};
}

WholeCopy CheckNumericsOp::Plan(KernelContext& context, bool nan, bool infinite) const {
  if (nan || infinite) {
    Throw(Code::kInvalidArgument, "{} : Tensor had {} values", message_,
          nan && infinite ? "Inf and NaN"
          : nan           ? "NaN"
                          : "Inf");
  }
  return PlanIdentity(context, 0);
}

}  // namespace lanescope::exec
