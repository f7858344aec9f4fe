#include "exec/kernels/layer_plan.h"

#include <algorithm>

namespace lanescope::exec {
namespace {

void CheckGradientShape(std::string_view name, const Shape& given, const Shape& expected) {
  if (given == expected) return;
  Throw(Code::kInvalidArgument, "Expected {} shape to be {}, but got {}", name, expected.ToString(),
        given.ToString());
}

Repeated StepsOf(const Shape& own) {
  const int64_t columns = own.rank() >= 1 ? own[own.rank() - 1] : 1;
  const int64_t rows = own.rank() >= 2 ? own[0] : 1;
  return {rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

}  // namespace

BiasOp::BiasOp(const Node& node) : type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {
  const std::string format = node.StringAttr("data_format", "NHWC");
  if (format != "NHWC" && format != "NCHW") {
    Throw(Code::kInvalidArgument, "node {}: data_format {} is neither NHWC nor NCHW", node.name, format);
  }
  channels_first_ = format == "NCHW" && node.op != "BiasAddV1";
}

BiasPlan BiasOp::PlanFor(const Shape& values) const {
  if (values.rank() < 2) {
    Throw(Code::kInvalidArgument, "Input tensor must be at least 2D: {}", values.ToString());
  }
  return {type_, channels_first_ ? 1 : values.rank() - 1, {}};
}

BiasPlan BiasAddOp::Plan(KernelContext& context) const {
  const Shape& values = context.input(0).shape;
  const Shape& bias = context.input(1).shape;
  BiasPlan plan = PlanFor(values);
  if (bias.rank() != 1) Throw(Code::kInvalidArgument, "Biases must be 1D: {}", bias.ToString());
  if (bias[0] != values[plan.channel]) {
    Throw(Code::kInvalidArgument,
          "Must provide as many biases as the {} dimension of the input tensor: {} vs. {}",
          channels_first_ ? "channel" : "last", bias.ToString(), values.ToString());
  }
  plan.bias = bias;
  for (int i = plan.channel + 1; i < values.rank(); ++i) plan.bias.Append(1);
  context.SetOutputShape(0, values);
  return plan;
}

BiasPlan BiasAddGradOp::Plan(KernelContext& context) const {
  const Shape& values = context.input(0).shape;
  const BiasPlan plan = PlanFor(values);
  context.SetOutputShape(0, Shape{values[plan.channel]});
  return plan;
}

ImageWindows PoolOp::WindowsOver(const Shape& images) const {
  if (images.rank() != 4) {
    Throw(Code::kInvalidArgument, "tensor_in must be 4-dimensional, not {}", images.ToString());
  }
  return {images[0], images[3], attrs_.Resolve(1, images[1], size_[0]),
          attrs_.Resolve(2, images[2], size_[1])};
}

ImageWindows PoolOp::Plan(KernelContext& context) const {
  const ImageWindows windows = WindowsOver(context.input(0).shape);
  context.SetOutputShape(0, windows.OutputShape(windows.channels));
  return windows;
}

ImageWindows MaxPoolGradOp::Plan(KernelContext& context) const {
  const Shape& images = context.input(0).shape;
  const ImageWindows windows = WindowsOver(images);
  const Shape pooled = windows.OutputShape(windows.channels);
  CheckGradientShape("orig_output", context.input(1).shape, pooled);
  CheckGradientShape("grad", context.input(2).shape, pooled);
  context.SetOutputShape(0, images);
  return windows;
}

ImageWindows AvgPoolGradOp::Plan(KernelContext& context) const {
  const Shape images = ReadShape(context.input(0));
  const ImageWindows windows = WindowsOver(images);
  CheckGradientShape("grad", context.input(1).shape, windows.OutputShape(windows.channels));
  context.SetOutputShape(0, images);
  return windows;
}

LrnOp::LrnOp(const Node& node)
    : attrs_{node.op == "LRNGrad",
             node.IntAttr("depth_radius", 5),
             node.FloatAttr("bias", 1.0f),
             node.FloatAttr("alpha", 1.0f),
             node.FloatAttr("beta", 0.5f),
             0,
             0} {
  if (attrs_.radius < 0) {
    Throw(Code::kInvalidArgument, "node {}: depth_radius must not be negative", node.name);
  }
}

LrnPlan LrnOp::Plan(KernelContext& context) const {
  const Shape& shape = context.input(0).shape;
  if (shape.rank() != 4) Throw(Code::kInvalidArgument, "in must be 4-dimensional, not {}", shape.ToString());
  for (int i = 1; attrs_.gradient && i < 3; ++i) {
    if (context.input(i).shape == shape) continue;
    Throw(Code::kInvalidArgument, "input_grads, input_image, and out_image should have the same shape");
  }
  context.SetOutputShape(0, shape);
  LrnPlan plan = attrs_;
  plan.depth = shape[3];
  plan.pixels = SizeOfDims(shape, 0, 3);
  plan.radius = std::min(plan.radius, plan.depth);
  return plan;
}

SoftmaxPlan SoftmaxOp::Plan(KernelContext& context) const {
  const Shape& shape = context.input(0).shape;
  const int last = shape.rank() - 1;
  if (last < 0) Throw(Code::kInvalidArgument, "logits must have >= 1 dimension, got {}", shape.ToString());
  context.SetOutputShape(0, shape);
  return {log_, SizeOfDims(shape, 0, last), shape[last]};
}

CrossEntropyPlan PlanCrossEntropy(KernelContext& context) {
  const Shape& features = context.input(0).shape;
  const Shape& labels = context.input(1).shape;
  if (!CanBroadcast(features, labels)) {
    Throw(Code::kInvalidArgument, "logits and labels must be broadcastable: logits_size={} labels_size={}",
          features.ToString(), labels.ToString());
  }
  const Shape shape = BroadcastShapes(features, labels);
  if (shape.rank() != 2) {
    Throw(Code::kInvalidArgument,
          "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional");
  }
  context.SetOutputShape(0, Shape{shape[0]});
  context.SetOutputShape(1, shape);
  return {shape[0], shape[1], StepsOf(features), StepsOf(labels)};
}

CrossEntropyPlan PlanSparseCrossEntropy(KernelContext& context) {
  const Shape& features = context.input(0).shape;
  const Shape& labels = context.input(1).shape;
  if (features.rank() != 2) {
    Throw(Code::kInvalidArgument, "logits must be 2-D, but got shape {}", features.ToString());
  }
  if (labels.rank() != 1) {
    Throw(Code::kInvalidArgument, "labels must be 1-D, but got shape {}", labels.ToString());
  }
  if (labels[0] != features[0]) {
    Throw(Code::kInvalidArgument,
          "logits and labels must have the same first dimension, got logits shape {} and labels shape {}",
          features.ToString(), labels.ToString());
  }
  if (features[1] == 0) {
    Throw(Code::kInvalidArgument, "Must have at least one class, but got logits shape {}",
          features.ToString());
  }
  context.SetOutputShape(0, labels);
  context.SetOutputShape(1, features);
  return {features[0], features[1], {features[1], 1}, {1, 0}};
}

}  // namespace lanescope::exec
