// SPDX-License-Identifier: Apache-2.0
// Arguments of layers of networks, for inference and kernels: bias, normalisation, softmax and its losses.
// Shapes may be open. All throw InvalidArgument, in TensorFlow's words, for what does not fit.
#pragma once

#include "core/graph/op.h"

namespace lanescope::ops {

// Where BiasAdd and its gradient have the channels.
class BiasRule {
 public:
  explicit BiasRule(const Node& node)
      : channels_first_(node.op != "BiasAddV1" && node.StringAttr("data_format", "NHWC") == "NCHW") {}
  // The dimension of the channels; `values` has a known rank.
  int ChannelOf(const Shape& values) const;
  Shape ResultOf(const Shape& values, const Shape& bias) const;

 private:
  bool channels_first_;
};

// Local response normalisation: over 2 * radius + 1 channels.
int64_t LrnRadius(const Node& node);
// The shape that the inputs, images of one shape, have.
Shape LrnShape(std::span<const Shape> inputs);

void CheckLogits(const Shape& logits);
// [rows, classes] of logits and labels that broadcast to each other; or of one label a row.
Shape CrossEntropyShape(const Shape& logits, const Shape& labels);
Shape SparseCrossEntropyShape(const Shape& logits, const Shape& labels);

// FusedBatchNorm and its gradient.
struct BatchNormRule {
  explicit BatchNormRule(const Node& node);
  // The images'. Statistics that are not read may have any size.
  Shape ResultOf(const Shape& x, const Shape& scale, const Shape& offset, const Shape& mean,
                 const Shape& variance) const;
  Shape GradientOf(const Shape& dy, const Shape& x, const Shape& scale, const Shape& mean,
                   const Shape& variance) const;

  int channel;  // axis of the images
  bool training;
  float average_weight;  // of the batch in the running mean and variance; 1: there is no running one
};

}  // namespace lanescope::ops
