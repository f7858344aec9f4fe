// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/convolution.h"

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

void InferResult(InferenceContext& context) {
  context.SetShape(0, ConvolutionRule(context.node()).ResultOf(context.shape(0), context.shape(1)));
}

void InferImages(InferenceContext& context) {
  context.SetShape(0, ConvolutionRule(context.node())
                          .ImagesOf(ShapeFromInput(context, 0), context.shape(1), context.shape(2)));
}

void InferFilter(InferenceContext& context) {
  context.SetShape(0, ConvolutionRule(context.node())
                          .FilterOf(context.shape(0), ShapeFromInput(context, 1), context.shape(2)));
}

// Every output pixel takes a product and a sum with each weight of its channel; the gradients do the same
// products.
OpWork ConvolutionWork(const TensorInfo& convolved, const Shape& filter, std::span<const TensorInfo> inputs,
                       std::span<const TensorInfo> outputs) {
  int64_t weights = 0;
  if (filter.HasBound() && filter.rank() == 4) weights = SubShape(filter, 0, 3).NumElements();
  return {SaturatingMul(SaturatingMul(2, weights), CountOf(convolved)), TotalBytes(inputs, outputs)};
}

OpWork Conv2DCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return ConvolutionWork(outputs[0], inputs[1].shape, inputs, outputs);
}
OpWork Conv2DBackpropInputCost(const Node&, std::span<const TensorInfo> inputs,
                               std::span<const TensorInfo> outputs) {
  return ConvolutionWork(inputs[2], inputs[1].shape, inputs, outputs);
}
OpWork Conv2DBackpropFilterCost(const Node&, std::span<const TensorInfo> inputs,
                                std::span<const TensorInfo> outputs) {
  return ConvolutionWork(inputs[2], outputs[0].shape, inputs, outputs);
}

// Every output takes a product and a sum with each tap of its filter.
OpWork DepthwiseWork(const TensorInfo& convolved, const Shape& filter, std::span<const TensorInfo> inputs,
                     std::span<const TensorInfo> outputs) {
  int64_t taps = 0;
  if (filter.HasBound() && filter.rank() == 4) taps = SubShape(filter, 0, 2).NumElements();
  return {SaturatingMul(SaturatingMul(2, taps), CountOf(convolved)), TotalBytes(inputs, outputs)};
}
OpWork DepthwiseCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return DepthwiseWork(outputs[0], inputs[1].shape, inputs, outputs);
}
OpWork DepthwiseBackpropInputCost(const Node&, std::span<const TensorInfo> inputs,
                                  std::span<const TensorInfo> outputs) {
  return DepthwiseWork(inputs[2], inputs[1].shape, inputs, outputs);
}
OpWork DepthwiseBackpropFilterCost(const Node&, std::span<const TensorInfo> inputs,
                                   std::span<const TensorInfo> outputs) {
  return DepthwiseWork(inputs[2], outputs[0].shape, inputs, outputs);
}

}  // namespace

void ConvolutionRule::CheckDepths(Dim channels, Dim depth) const {
  if (depthwise_) {
    if (!Contradict(channels, depth)) return;
    Throw(Code::kInvalidArgument, "input and filter must have the same depth: {} vs {}", channels, depth);
  }
  if (depth == 0) Throw(Code::kInvalidArgument, "filter depth must be greater than zero");
  if (IsExact(channels) && IsExact(depth) && channels % depth != 0) {
    Throw(Code::kInvalidArgument, "input depth must be evenly divisible by filter depth: {} vs {}", channels,
          depth);
  }
}

void ConvolutionRule::CheckGradient(const Shape& gradient, const Shape& result) const {
  if (!Contradict(ImageShape("out_backprop", gradient), result)) return;
  Throw(Code::kInvalidArgument, "out_backprop has shape {}, but the convolution's output has {}",
        gradient.ToString(), result.ToString());
}

Shape ConvolutionRule::ResultOf(const Shape& given_images, const Shape& given_filter) const {
  const Shape images = ImageShape("convolution input", given_images);
  const Shape filter = ImageShape("convolution filter", given_filter);
  const ImageAxes& axes = windows_.axes();
  CheckDepths(images[axes.channel], filter[2]);
  Shape result = UnknownOfRank(4);
  result.set_dim(axes.batch, images[axes.batch]);
  result.set_dim(axes.height, windows_.CountAlong(axes.height, images[axes.height], filter[0]));
  result.set_dim(axes.width, windows_.CountAlong(axes.width, images[axes.width], filter[1]));
  result.set_dim(axes.channel, depthwise_ ? MulDims(filter[2], filter[3]) : filter[3]);
  return result;
}

Shape ConvolutionRule::ImagesOf(const Shape& sizes, const Shape& filter, const Shape& gradient) const {
  if (sizes.known_rank() && sizes.rank() != 4 && (depthwise_ || sizes.rank() != 2)) {
    Throw(Code::kInvalidArgument, "input_sizes must contain 4 values{}, but got: {}",
          depthwise_ ? "" : " or 2 values", sizes.rank());
  }
  const ImageAxes& axes = windows_.axes();
  const Shape out = ImageShape("out_backprop", gradient);
  Shape images = sizes.rank() == 4 ? sizes : UnknownOfRank(4);
  if (sizes.rank() == 2) {
    images.set_dim(axes.height, sizes[0]);
    images.set_dim(axes.width, sizes[1]);
    images.set_dim(axes.channel, ImageShape("convolution filter", filter)[2]);
  }
  const Dim batch = images[axes.batch];
  if (!Contradict(batch, out[axes.batch])) images.set_dim(axes.batch, MergeDim(batch, out[axes.batch]));
  CheckGradient(out, ResultOf(images, filter));
  return images;
}

Shape ConvolutionRule::FilterOf(const Shape& images, const Shape& sizes, const Shape& gradient) const {
  const Shape filter = ImageShape("convolution filter", sizes);
  CheckGradient(gradient, ResultOf(images, filter));
  return filter;
}

void RegisterConvolutionOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("Conv2D(input: T, filter: T) -> (output: T)",
     "T: {floating, int32}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', "
     "'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
     "list(int) = [1, 1, 1, 1]")
      .Infer(InferResult)
      .Work(Conv2DCost);
  op("Conv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)",
     "T: {floating, int32}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', "
     "'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
     "list(int) = [1, 1, 1, 1]")
      .Infer(InferImages)
      .Work(Conv2DBackpropInputCost);
  op("Conv2DBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
     "T: floating; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', "
     "'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
     "list(int) = [1, 1, 1, 1]")
      .Infer(InferFilter)
      .Work(Conv2DBackpropFilterCost);
  op("DepthwiseConv2dNative(input: T, filter: T) -> (output: T)",
     "T: floating; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) "
     "= []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]")
      .Infer(InferResult)
      .Work(DepthwiseCost);
  op("DepthwiseConv2dNativeBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)",
     "T: floating; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) "
     "= []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]")
      .Infer(InferImages)
      .Work(DepthwiseBackpropInputCost);
  op("DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
     "T: floating; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) "
     "= []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]")
      .Infer(InferFilter)
      .Work(DepthwiseBackpropFilterCost);
}

}  // namespace lanescope::ops
