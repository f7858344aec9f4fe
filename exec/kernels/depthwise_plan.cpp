#include "exec/kernels/depthwise_plan.h"

namespace lanescope::exec {

DepthwisePlan DepthwiseOp::PlanFor(const Shape& images, const Shape& filter) const {
  if (images.rank() != 4 || filter.rank() != 4) {
    Throw(Code::kInvalidArgument, "{}: input and filter must be 4-dimensional: {} and {}", name_,
          images.ToString(), filter.ToString());
  }
  if (images[3] != filter[2]) {
    Throw(Code::kInvalidArgument, "input and filter must have the same depth: {} vs {}", images[3],
          filter[2]);
  }
  return {{images[0], images[3], attrs_.Resolve(1, images[1], filter[0]),
           attrs_.Resolve(2, images[2], filter[1])},
          filter[3]};
}

void DepthwiseOp::CheckGradient(const DepthwisePlan& plan, const Shape& gradient) const {
  const Shape expected = plan.windows.OutputShape(plan.filters());
  if (gradient == expected) return;
  Throw(Code::kInvalidArgument, "{}: out_backprop has shape {}, but the convolution's output has {}", name_,
        gradient.ToString(), expected.ToString());
}

DepthwisePlan DepthwiseForwardOp::Plan(KernelContext& context) const {
  const DepthwisePlan plan = PlanFor(context.input(0).shape, context.input(1).shape);
  context.SetOutputShape(0, plan.windows.OutputShape(plan.filters()));
  return plan;
}

DepthwisePlan DepthwiseInputGradOp::Plan(KernelContext& context) const {
  const Shape images = ReadShape(context.input(0));
  const DepthwisePlan plan = PlanFor(images, context.input(1).shape);
  CheckGradient(plan, context.input(2).shape);
  context.SetOutputShape(0, images);
  return plan;
}

DepthwisePlan DepthwiseFilterGradOp::Plan(KernelContext& context) const {
  const Shape filter = ReadShape(context.input(1));
  const DepthwisePlan plan = PlanFor(context.input(0).shape, filter);
  CheckGradient(plan, context.input(2).shape);
  context.SetOutputShape(0, filter);
  return plan;
}

}  // namespace lanescope::exec
