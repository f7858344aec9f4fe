// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/batch_norm.h"

#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Gives output 0 the images' shape and the next `vectors` one element a channel; others are empty.
ChannelShape ShapeOutputs(KernelContext& context, const Shape& images, int channel, int vectors) {
  ShapeOutput(context, 0, images);
  for (int i = 1; i < context.num_outputs(); ++i)
    ShapeOutput(context, i, Shape{i <= vectors ? images[channel] : 0});
  return {SizeOfDims(images, 0, channel), images[channel], SizeOfDims(images, channel + 1, 4)};
}

void RequireFloat(const TensorRef& images) {
  if (images.dtype != DataType::kFloat) ThrowUnsupportedType("FusedBatchNorm", images.dtype);
}

}  // namespace

ChannelShape PrepareBatchNorm(KernelContext& context, const BatchNormSpec& spec) {
  RequireFloat(context.input(0));
  const auto shape = [&](int i) -> const Shape& { return context.input(i).shape; };
  return ShapeOutputs(context, spec.ResultOf(shape(0), shape(1), shape(2), shape(3), shape(4)), spec.channel,
                      4);
}

ChannelShape PrepareBatchNormGrad(KernelContext& context, const BatchNormSpec& spec) {
  RequireFloat(context.input(0));
  const auto shape = [&](int i) -> const Shape& { return context.input(i).shape; };
  return ShapeOutputs(context, spec.GradientOf(shape(0), shape(1), shape(2), shape(3), shape(4)),
                      spec.channel, 2);
}

}  // namespace lanescope::exec
