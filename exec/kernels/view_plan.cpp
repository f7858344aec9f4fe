// SPDX-License-Identifier: Apache-2.0
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
  ShapeOutput(context, 0, ops::ReshapedShape(context.input(0).shape, NumbersOf(context.input(1))));
  return {&context.input(0)};
}

WholeCopy PlanExpandDims(KernelContext& context) {
  const int64_t axis = ReadInt(context.input(1), "the axis of ExpandDims");
  ShapeOutput(context, 0, ops::ExpandedShape(context.input(0).shape, axis));
  return {&context.input(0)};
}

SqueezeOp::SqueezeOp(const Node& node) {
  if (node.FindAttr("squeeze_dims") != nullptr) axes_ = node.IntListAttr("squeeze_dims");
}

WholeCopy SqueezeOp::Plan(KernelContext& context) const {
  ShapeOutput(context, 0, ops::SqueezedShape(context.input(0).shape, axes_));
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

WholeCopy CheckNumericsOp::Plan(KernelContext& context, const NotFinite& found) const {
  std::vector<std::string> kinds;
  if (tells_signs_ && found.below) kinds.emplace_back("-Inf");
  if (tells_signs_ && found.above) kinds.emplace_back("+Inf");
  if (!tells_signs_ && (found.below || found.above)) kinds.emplace_back("Inf");
  if (found.nan) kinds.emplace_back("NaN");
  if (kinds.empty()) return PlanIdentity(context, 0);
  std::string text = kinds[0];
  if (kinds.size() == 2) text += " and " + kinds[1];
  if (kinds.size() == 3) text += ", " + kinds[1] + ", and " + kinds[2];
  Throw(Code::kInvalidArgument, "{} : Tensor had {} values", message_, text);
}

}  // namespace lanescope::exec
