#include "exec/kernels/convolution_plan.h"

namespace lanescope::exec {
namespace {

void CheckRank4(std::string_view what, const Shape& shape) {
  if (shape.rank() == 4) return;
  Throw(Code::kInvalidArgument, "{} must be 4-dimensional: {}", what, shape.ToString());
}

}  // namespace

ConvPlan ConvOp::PlanFor(const Shape& images, const Shape& filter) const {
  CheckRank4("convolution input", images);
  CheckRank4("convolution filter", filter);
  if (filter[2] == 0) Throw(Code::kInvalidArgument, "filter depth must be greater than zero");
  if (filter[2] != images[3]) {
    const bool grouped = images[3] % filter[2] == 0;
    if (grouped) {
      Throw(Code::kUnimplemented,
            "input depth {} and filter depth {} differ; grouped convolution has no kernel", images[3],
            filter[2]);
    }
    Throw(Code::kInvalidArgument, "input depth must be evenly divisible by filter depth: {} vs {}", images[3],
          filter[2]);
  }
  return {{images[0], images[3], attrs_.Resolve(1, images[1], filter[0]),
           attrs_.Resolve(2, images[2], filter[1])},
          filter[3]};
}

void ConvOp::CheckGradient(const ConvPlan& plan, const Shape& gradient) {
  CheckRank4("out_backprop", gradient);
  const Shape expected = plan.windows.OutputShape(plan.filters);
  if (gradient == expected) return;
  Throw(Code::kInvalidArgument, "out_backprop has shape {}, but the convolution's output has {}",
        gradient.ToString(), expected.ToString());
}

ConvPlan ConvOp::Plan(KernelContext& context) const {
  const ConvPlan plan = PlanFor(context.input(0).shape, context.input(1).shape);
  context.SetOutputShape(0, plan.windows.OutputShape(plan.filters));
  return plan;
}

ConvPlan ConvInputGradOp::Plan(KernelContext& context) const {
  const Shape& filter = context.input(1).shape;
  const Shape& gradient = context.input(2).shape;
  const Shape sizes = ReadShape(context.input(0));
  if (sizes.rank() != 4 && sizes.rank() != 2) {
    Throw(Code::kInvalidArgument,
          "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: {}",
          sizes.rank());
  }
  CheckRank4("convolution filter", filter);
  CheckRank4("out_backprop", gradient);
  const Shape images = sizes.rank() == 4 ? sizes : Shape{gradient[0], sizes[0], sizes[1], filter[2]};
  const ConvPlan plan = PlanFor(images, filter);
  CheckGradient(plan, gradient);
  context.SetOutputShape(0, images);
  return plan;
}

ConvPlan ConvFilterGradOp::Plan(KernelContext& context) const {
  const Shape filter = ReadShape(context.input(1));
  const ConvPlan plan = PlanFor(context.input(0).shape, filter);
  CheckGradient(plan, context.input(2).shape);
  context.SetOutputShape(0, filter);
  return plan;
}

}  // namespace lanescope::exec
