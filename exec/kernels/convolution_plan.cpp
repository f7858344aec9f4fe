// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/convolution_plan.h"

namespace lanescope::exec {

ConvPlan ConvOp::PlanFor(const Shape& images, const Shape& filter) const {
  const int64_t filters = rule_.ResultOf(images, filter)[3];
  if (images[3] != filter[2]) {
    Throw(Code::kUnimplemented,
          "input depth {} and filter depth {} differ; grouped convolution has no kernel", images[3],
          filter[2]);
  }
  const ops::WindowRule& windows = rule_.windows();
  return {
      {images[0], images[3], windows.Along(1, images[1], filter[0]), windows.Along(2, images[2], filter[1])},
      filters,
      filter[3]};
}

ConvPlan ConvOp::Plan(KernelContext& context) const {
  const ConvPlan plan = PlanFor(context.input(0).shape, context.input(1).shape);
  context.SetOutputShape(0, plan.windows.OutputShape(plan.filters));
  return plan;
}

ConvPlan ConvInputGradOp::Plan(KernelContext& context) const {
  const Shape& filter = context.input(1).shape;
  const Shape images = rule_.ImagesOf(ReadShape(context.input(0)), filter, context.input(2).shape);
  const ConvPlan plan = PlanFor(images, filter);
  context.SetOutputShape(0, images);
  return plan;
}

ConvPlan ConvFilterGradOp::Plan(KernelContext& context) const {
  const Shape& images = context.input(0).shape;
  const Shape filter = rule_.FilterOf(images, ReadShape(context.input(1)), context.input(2).shape);
  const ConvPlan plan = PlanFor(images, filter);
  context.SetOutputShape(0, filter);
  return plan;
}

}  // namespace lanescope::exec
