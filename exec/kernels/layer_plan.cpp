// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/layer_plan.h"

#include <algorithm>

namespace lanescope::exec {
namespace {

Repeated StepsOf(const Shape& own) {
  const int64_t columns = own.rank() >= 1 ? own[own.rank() - 1] : 1;
  const int64_t rows = own.rank() >= 2 ? own[0] : 1;
  return {rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

}  // namespace

BiasPlan BiasAddOp::Plan(KernelContext& context) const {
  const Shape& values = context.input(0).shape;
  const Shape& bias = context.input(1).shape;
  context.SetOutputShape(0, rule_.ResultOf(values, bias));
  BiasPlan plan{type_, rule_.ChannelOf(values), bias};
  for (int i = plan.channel + 1; i < values.rank(); ++i) plan.bias.Append(1);
  return plan;
}

BiasPlan BiasAddGradOp::Plan(KernelContext& context) const {
  const Shape& values = context.input(0).shape;
  const BiasPlan plan{type_, rule_.ChannelOf(values), {}};
  context.SetOutputShape(0, Shape{values[plan.channel]});
  return plan;
}

ImageWindows PoolOp::WindowsOver(const Shape& images) const {
  return {images[0], images[3], rule_.windows().Along(1, images[1], rule_.size(1)),
          rule_.windows().Along(2, images[2], rule_.size(2))};
}

ImageWindows PoolOp::Plan(KernelContext& context) const {
  const Shape& images = context.input(0).shape;
  context.SetOutputShape(0, rule_.ResultOf(images));
  return WindowsOver(images);
}

ImageWindows MaxPoolGradOp::Plan(KernelContext& context) const {
  const Shape images =
      rule_.MaxGradientOf(context.input(0).shape, context.input(1).shape, context.input(2).shape);
  context.SetOutputShape(0, images);
  return WindowsOver(images);
}

ImageWindows MaxPoolGradGradOp::Plan(KernelContext& context) const {
  const Shape& images = context.input(0).shape;
  context.SetOutputShape(0, rule_.MaxSecondOf(images, context.input(1).shape, context.input(2).shape));
  return WindowsOver(images);
}

ImageWindows AvgPoolGradOp::Plan(KernelContext& context) const {
  const Shape images = rule_.AvgGradientOf(ReadShape(context.input(0)), context.input(1).shape);
  context.SetOutputShape(0, images);
  return WindowsOver(images);
}

LrnOp::LrnOp(const Node& node)
    : attrs_{node.op == "LRNGrad",
             ops::LrnRadius(node),
             node.FloatAttr("bias", 1.0f),
             node.FloatAttr("alpha", 1.0f),
             node.FloatAttr("beta", 0.5f),
             0,
             0} {}

LrnPlan LrnOp::Plan(KernelContext& context) const {
  std::vector<Shape> inputs;
  for (int i = 0; i < context.num_inputs(); ++i) inputs.push_back(context.input(i).shape);
  const Shape shape = ops::LrnShape(inputs);
  context.SetOutputShape(0, shape);
  LrnPlan plan = attrs_;
  plan.depth = shape[3];
  plan.pixels = SizeOfDims(shape, 0, 3);
  plan.radius = std::min(plan.radius, plan.depth);
  return plan;
}

SoftmaxPlan SoftmaxOp::Plan(KernelContext& context) const {
  const Shape& shape = context.input(0).shape;
  ops::CheckLogits(shape);
  const int last = shape.rank() - 1;
  context.SetOutputShape(0, shape);
  return {log_, SizeOfDims(shape, 0, last), shape[last]};
}

CrossEntropyPlan PlanCrossEntropy(KernelContext& context) {
  const Shape& features = context.input(0).shape;
  const Shape& labels = context.input(1).shape;
  const Shape shape = ops::CrossEntropyShape(features, labels);
  context.SetOutputShape(0, Shape{shape[0]});
  context.SetOutputShape(1, shape);
  return {shape[0], shape[1], StepsOf(features), StepsOf(labels)};
}

CrossEntropyPlan PlanSparseCrossEntropy(KernelContext& context) {
  const Shape shape = ops::SparseCrossEntropyShape(context.input(0).shape, context.input(1).shape);
  context.SetOutputShape(0, Shape{shape[0]});
  context.SetOutputShape(1, shape);
  return {shape[0], shape[1], {shape[1], 1}, {1, 0}};
}

}  // namespace lanescope::exec
