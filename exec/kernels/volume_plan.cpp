// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/volume_plan.h"

namespace lanescope::exec {
namespace {

void RequireVolumeChannelsLast(const Node& node) {
  const std::string format = node.StringAttr("data_format", "NDHWC");
  if (format == "NDHWC") return;
  Throw(Code::kUnimplemented, "node {}: {} has kernels for the NDHWC format alone, not for {}", node.name,
        node.op, format);
}

}  // namespace

VolumeConvOp::VolumeConvOp(const Node& node) : rule_(node) { RequireVolumeChannelsLast(node); }

VolumePlan VolumeConvOp::PlanFor(const Shape& volumes, const Shape& filter) const {
  if (volumes[4] != filter[3]) {
    Throw(Code::kUnimplemented,
          "input depth {} and filter depth {} differ; grouped convolution has no kernel", volumes[4],
          filter[3]);
  }
  return {volumes[0], volumes[4], rule_.windows().Along(volumes, {filter[0], filter[1], filter[2]}),
          filter[4]};
}

VolumePlan VolumeConvOp::Plan(KernelContext& context) const {
  const Shape& volumes = context.input(0).shape;
  const Shape& filter = context.input(1).shape;
  const Shape result = rule_.ResultOf(volumes, filter);
  const VolumePlan plan = PlanFor(volumes, filter);
  context.SetOutputShape(0, result);
  return plan;
}

VolumePlan VolumeConvInputGradOp::Plan(KernelContext& context) const {
  const Shape volumes = ops::VolumeShape("input_sizes", ReadShape(context.input(0)));
  const Shape& filter = context.input(1).shape;
  rule_.CheckGradient(volumes, filter, context.input(2).shape);
  const VolumePlan plan = PlanFor(volumes, filter);
  context.SetOutputShape(0, volumes);
  return plan;
}

VolumePlan VolumeConvFilterGradOp::Plan(KernelContext& context) const {
  const Shape& volumes = context.input(0).shape;
  const Shape filter = ops::VolumeShape("filter_sizes", ReadShape(context.input(1)));
  rule_.CheckGradient(volumes, filter, context.input(2).shape);
  const VolumePlan plan = PlanFor(volumes, filter);
  context.SetOutputShape(0, filter);
  return plan;
}

VolumePoolOp::VolumePoolOp(const Node& node) : rule_(node) { RequireVolumeChannelsLast(node); }

VolumePlan VolumePoolOp::PlanFor(const Shape& volumes) const {
  return {volumes[0], volumes[4], rule_.windows().Along(volumes, rule_.sizes()), volumes[4]};
}

VolumePlan VolumePoolOp::Plan(KernelContext& context) const {
  const Shape& volumes = context.input(0).shape;
  context.SetOutputShape(0, rule_.ResultOf(volumes));
  return PlanFor(volumes);
}

VolumePlan VolumeMaxPoolGradOp::Plan(KernelContext& context) const {
  const Shape volumes =
      rule_.MaxGradientOf(context.input(0).shape, context.input(1).shape, context.input(2).shape);
  context.SetOutputShape(0, volumes);
  return PlanFor(volumes);
}

VolumePlan VolumeMaxPoolSecondOp::Plan(KernelContext& context) const {
  const Shape& volumes = context.input(0).shape;
  context.SetOutputShape(0,
                         rule_.MaxSecondGradientOf(volumes, context.input(1).shape, context.input(2).shape));
  return PlanFor(volumes);
}

VolumePlan VolumeAvgPoolGradOp::Plan(KernelContext& context) const {
  const Shape volumes = rule_.AvgGradientOf(ReadShape(context.input(0)), context.input(1).shape);
  context.SetOutputShape(0, volumes);
  return PlanFor(volumes);
}

}  // namespace lanescope::exec
