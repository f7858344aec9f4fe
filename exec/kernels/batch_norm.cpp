#include "exec/kernels/batch_norm.h"

#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

void RequireImage(const TensorRef& image) {
  if (image.dtype != DataType::kFloat) ThrowUnsupportedType("FusedBatchNorm", image.dtype);
  if (image.shape.rank() == 4) return;
  Throw(Code::kInvalidArgument, "input must be 4 or 5-dimensional{}", image.shape.ToString());
}

void RequireVector(std::string_view name, const TensorRef& tensor) {
  if (tensor.shape.rank() == 1) return;
  Throw(Code::kInvalidArgument, "{} must be 1-dimensional{}", name, tensor.shape.ToString());
}

void RequireChannels(std::string_view name, const TensorRef& tensor, int64_t channels) {
  if (tensor.NumElements() == channels) return;
  Throw(Code::kInvalidArgument,
        "{} must have the same number of elements as the channels of x, got {} and {}", name,
        tensor.NumElements(), channels);
}

ChannelShape ChannelsOf(const Shape& image, bool channels_first) {
  if (channels_first) return {image[0], image[1], image[2] * image[3]};
  return {image[0] * image[1] * image[2], image[3], 1};
}

}  // namespace

BatchNormSpec::BatchNormSpec(const Node& node)
    : training(node.BoolAttr("is_training", true)),
      epsilon(node.FloatAttr("epsilon", 0.0001f)),
      average_weight(node.FloatAttr("exponential_avg_factor", 1.0f)) {
  const std::string format = node.StringAttr("data_format", "NHWC");
  if (format != "NHWC" && format != "NCHW") {
    Throw(Code::kUnimplemented, "node {}: data_format {}; NHWC and NCHW have kernels", node.name, format);
  }
  channels_first = format == "NCHW";
}

ChannelShape PrepareBatchNorm(KernelContext& context, const BatchNormSpec& spec) {
  const TensorRef& x = context.input(0);
  RequireImage(x);
  RequireVector("scale", context.input(1));
  RequireVector("offset", context.input(2));
  RequireVector("estimated_mean", context.input(3));
  RequireVector("estimated_variance", context.input(4));
  const ChannelShape shape = ChannelsOf(x.shape, spec.channels_first);
  RequireChannels("scale", context.input(1), shape.channels);
  RequireChannels("offset", context.input(2), shape.channels);
  if (!spec.training || spec.average_weight != 1.0f) {
    const std::string when =
        spec.training ? "When exponential_avg_factor != 1, " : "When is_training=false, ";
    RequireChannels(when + "mean", context.input(3), shape.channels);
    RequireChannels(when + "variance", context.input(4), shape.channels);
  }
  ShapeOutput(context, 0, x.shape);
  for (int i = 1; i < 5; ++i) ShapeOutput(context, i, Shape{shape.channels});
  if (context.num_outputs() > 5) ShapeOutput(context, 5, Shape{0});
  return shape;
}

ChannelShape PrepareBatchNormGrad(KernelContext& context, const BatchNormSpec& spec) {
  const TensorRef& dy = context.input(0);
  const TensorRef& x = context.input(1);
  RequireImage(dy);
  RequireImage(x);
  RequireVector("scale", context.input(2));
  RequireVector("saved mean", context.input(3));
  RequireVector("saved variance", context.input(4));
  if (!(x.shape == dy.shape)) {
    Throw(Code::kInvalidArgument,
          "x and y_backprop must have same shape, but x has shape {} and y_backprop has shape {}",
          x.shape.ToString(), dy.shape.ToString());
  }
  const ChannelShape shape = ChannelsOf(x.shape, spec.channels_first);
  RequireChannels("scale", context.input(2), shape.channels);
  RequireChannels("reserve_space_1", context.input(3), shape.channels);
  RequireChannels("reserve_space_2", context.input(4), shape.channels);
  ShapeOutput(context, 0, x.shape);
  ShapeOutput(context, 1, Shape{shape.channels});
  ShapeOutput(context, 2, Shape{shape.channels});
  for (int i = 3; i < context.num_outputs(); ++i) ShapeOutput(context, i, Shape{0});
  return shape;
}

}  // namespace lanescope::exec
