// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/element_wise_plan.h"

namespace lanescope::exec {

Shape PlanPair(KernelContext& context) {
  const Shape& a = context.input(0).shape;
  const Shape& b = context.input(1).shape;
  const Shape shape = a == b ? a : BroadcastShapes(a, b);
  context.SetOutputShape(0, shape);
  return shape;
}

Shape SameShapesOp::Plan(KernelContext& context) const {
  const Shape shape = context.input(0).shape;
  for (int i = 1; i < context.num_inputs(); ++i) {
    const Shape& other = context.input(i).shape;
    if (other == shape) continue;
    Throw(Code::kInvalidArgument,
          "Inputs to operation {} of type {} must have the same size and shape.  Input 0: {} != input {}: {}",
          name_, op_, shape.ToString(), i, other.ToString());
  }
  context.SetOutputShape(0, shape);
  return shape;
}

CompareOpRule::CompareOpRule(const Node& node)
    : op_(FindOp(kCompareOps, node.op)),
      mismatch_allowed_((op_ == CompareOp::kEqual || op_ == CompareOp::kNotEqual) &&
                        !node.BoolAttr("incompatible_shape_error", true)) {}

bool CompareOpRule::AreUnequal(const KernelContext& context) const {
  return mismatch_allowed_ && !CanBroadcast(context.input(0).shape, context.input(1).shape);
}

float ApproximateEqualOp::Plan(KernelContext& context) const {
  const Shape& a = context.input(0).shape;
  const Shape& b = context.input(1).shape;
  if (!(a == b)) {
    Throw(Code::kInvalidArgument, "x and y must be of the same shape. x shape: {}. y shape: {}", a.ToString(),
          b.ToString());
  }
  context.SetOutputShape(0, a);
  return tolerance_;
}

TriplePlan PlanSelect(KernelContext& context) {
  const Shape& condition = context.input(0).shape;
  const Shape& shape = context.input(1).shape;
  if (!(shape == context.input(2).shape)) {
    Throw(Code::kInvalidArgument, "'then' and 'else' must have the same size.  but received: {} vs. {}",
          shape.ToString(), context.input(2).shape.ToString());
  }
  Shape as_rows = condition;
  if (!(condition == shape) && condition.rank() != 0) {
    if (condition.rank() != 1 || shape.rank() == 0) {
      Throw(Code::kInvalidArgument, "a condition of shape {} does not match values of shape {}",
            condition.ToString(), shape.ToString());
    }
    if (condition[0] != shape[0]) {
      Throw(Code::kInvalidArgument,
            "Number of batches of 'then' must match size of 'cond', but saw: {} vs. {}", shape[0],
            condition[0]);
    }
    while (as_rows.rank() < shape.rank()) as_rows.Append(1);
  }
  context.SetOutputShape(0, shape);
  return {shape, {as_rows, shape, shape}};
}

TriplePlan PlanSelectV2(KernelContext& context) {
  const Shape& a = context.input(1).shape;
  const Shape& b = context.input(2).shape;
  const Shape shape = BroadcastShapes(context.input(0).shape, BroadcastShapes(a, b));
  context.SetOutputShape(0, shape);
  return {shape, {context.input(0).shape, a, b}};
}

TriplePlan PlanClip(KernelContext& context) {
  const Shape& t = context.input(0).shape;
  TriplePlan plan{t, {t, context.input(1).shape, context.input(2).shape}};
  for (size_t k = 1; k < 3; ++k) {
    if (plan.operands[k] == t || plan.operands[k].rank() == 0) continue;
    Throw(Code::kInvalidArgument,
          "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. input "
          "shape: {} clip_value_min shape: {} clip_value_max shape: {}",
          t.ToString(), plan.operands[1].ToString(), plan.operands[2].ToString());
  }
  context.SetOutputShape(0, t);
  return plan;
}

}  // namespace lanescope::exec
