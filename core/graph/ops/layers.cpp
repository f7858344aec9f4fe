// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/layers.h"

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/window.h"

namespace lanescope::ops {
namespace {

Shape BatchNormImage(const Shape& images) {
  if (!images.known_rank() || images.rank() == 4) return MergeShapes(images, UnknownOfRank(4));
  Throw(Code::kInvalidArgument, "input must be 4 or 5-dimensional{}", images.ToString());
}

void RequireRankOne(std::string_view name, const Shape& shape) {
  if (!shape.known_rank() || shape.rank() == 1) return;
  Throw(Code::kInvalidArgument, "{} must be 1-dimensional{}", name, shape.ToString());
}

void RequireChannels(std::string_view name, const Shape& vector, Dim channels) {
  if (!vector.known_rank() || !Contradict(vector[0], channels)) return;
  Throw(Code::kInvalidArgument,
        "{} must have the same number of elements as the channels of x, got {} and {}", name,
        BoundOf(vector[0]), BoundOf(channels));
}

}  // namespace

int BiasRule::ChannelOf(const Shape& values) const {
  if (values.rank() < 2) {
    Throw(Code::kInvalidArgument, "Input tensor must be at least 2D: {}", values.ToString());
  }
  return channels_first_ ? 1 : values.rank() - 1;
}

Shape BiasRule::ResultOf(const Shape& values, const Shape& bias) const {
  const int channel = values.known_rank() ? ChannelOf(values) : 0;
  if (bias.known_rank() && bias.rank() != 1) {
    Throw(Code::kInvalidArgument, "Biases must be 1D: {}", bias.ToString());
  }
  if (!values.known_rank() || !bias.known_rank()) return values;
  if (Contradict(bias[0], values[channel])) {
    Throw(Code::kInvalidArgument,
          "Must provide as many biases as the {} dimension of the input tensor: {} vs. {}",
          channels_first_ ? "channel" : "last", bias.ToString(), values.ToString());
  }
  Shape result = values;
  result.set_dim(channel, MergeDim(bias[0], values[channel]));
  return result;
}

int64_t LrnRadius(const Node& node) {
  const int64_t radius = node.IntAttr("depth_radius", 5);
  if (radius >= 0 && radius <= (int64_t{1} << 30)) return radius;
  Throw(Code::kInvalidArgument, "attribute 'depth_radius' of {} is not between 0 and 2^30", radius);
}

Shape LrnShape(std::span<const Shape> inputs) {
  Shape shape = ImageShape("in", inputs[0]);
  for (const Shape& input : inputs) {
    if (Contradict(input, shape)) {
      Throw(Code::kInvalidArgument, "input_grads, input_image, and out_image should have the same shape");
    }
    shape = MergeShapes(shape, input);
  }
  return shape;
}

void CheckLogits(const Shape& logits) {
  if (logits.rank() != 0) return;
  Throw(Code::kInvalidArgument, "logits must have >= 1 dimension, got {}", logits.ToString());
}

Shape CrossEntropyShape(const Shape& logits, const Shape& labels) {
  if (!CanBroadcast(logits, labels)) {
    Throw(Code::kInvalidArgument, "logits and labels must be broadcastable: logits_size={} labels_size={}",
          logits.ToString(), labels.ToString());
  }
  const Shape shape = BroadcastShapes(logits, labels);
  if (shape.known_rank() && shape.rank() != 2) {
    Throw(Code::kInvalidArgument,
          "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional");
  }
  return MergeShapes(shape, UnknownOfRank(2));
}

Shape SparseCrossEntropyShape(const Shape& logits, const Shape& labels) {
  if (logits.known_rank() && logits.rank() != 2) {
    Throw(Code::kInvalidArgument, "logits must be 2-D, but got shape {}", logits.ToString());
  }
  if (labels.known_rank() && labels.rank() != 1) {
    Throw(Code::kInvalidArgument, "labels must be 1-D, but got shape {}", labels.ToString());
  }
  Shape shape = MergeShapes(logits, UnknownOfRank(2));
  if (shape[1] == 0) {
    Throw(Code::kInvalidArgument, "Must have at least one class, but got logits shape {}", logits.ToString());
  }
  if (!labels.known_rank()) return shape;
  if (Contradict(labels[0], shape[0])) {
    Throw(Code::kInvalidArgument,
          "logits and labels must have the same first dimension, got logits shape {} and labels shape {}",
          logits.ToString(), labels.ToString());
  }
  shape.set_dim(0, MergeDim(labels[0], shape[0]));
  return shape;
}

BatchNormRule::BatchNormRule(const Node& node)
    : channel(AxesOf(node).channel),
      training(node.BoolAttr("is_training", true)),
      average_weight(node.FloatAttr("exponential_avg_factor", 1.0f)) {}

Shape BatchNormRule::ResultOf(const Shape& x, const Shape& scale, const Shape& offset, const Shape& mean,
                              const Shape& variance) const {
  const Shape image = BatchNormImage(x);
  RequireRankOne("scale", scale);
  RequireRankOne("offset", offset);
  RequireRankOne("estimated_mean", mean);
  RequireRankOne("estimated_variance", variance);
  RequireChannels("scale", scale, image[channel]);
  RequireChannels("offset", offset, image[channel]);
  if (!training || average_weight != 1.0f) {
    const std::string when = training ? "When exponential_avg_factor != 1, " : "When is_training=false, ";
    RequireChannels(when + "mean", mean, image[channel]);
    RequireChannels(when + "variance", variance, image[channel]);
  }
  return image;
}

Shape BatchNormRule::GradientOf(const Shape& dy, const Shape& x, const Shape& scale, const Shape& mean,
                                const Shape& variance) const {
  const Shape gradient = BatchNormImage(dy), image = BatchNormImage(x);
  RequireRankOne("scale", scale);
  RequireRankOne("saved mean", mean);
  RequireRankOne("saved variance", variance);
  if (Contradict(image, gradient)) {
    Throw(Code::kInvalidArgument,
          "x and y_backprop must have same shape, but x has shape {} and y_backprop has shape {}",
          x.ToString(), dy.ToString());
  }
  const Shape merged = MergeShapes(gradient, image);
  RequireChannels("scale", scale, merged[channel]);
  RequireChannels("reserve_space_1", mean, merged[channel]);
  RequireChannels("reserve_space_2", variance, merged[channel]);
  return merged;
}

}  // namespace lanescope::ops
