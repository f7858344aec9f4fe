// SPDX-License-Identifier: Apache-2.0
// Attributes and arguments of FusedBatchNorm and its gradient, for every kind of device.
#pragma once

#include "core/graph/ops/layers.h"
#include "exec/device/kernel.h"

namespace lanescope::exec {

struct BatchNormSpec : ops::BatchNormRule {
  explicit BatchNormSpec(const Node& node)
      : BatchNormRule(node), epsilon(node.FloatAttr("epsilon", 0.0001f)) {}
  float epsilon;
};

// An image as [outer, channels, inner].
struct ChannelShape {
  int64_t outer, channels, inner;
  int64_t count() const { return outer * inner; }  // of the elements of a channel
  int64_t elements() const { return count() * channels; }
  Shape shape() const { return {outer, channels, inner}; }
};

// Check the inputs as TensorFlow does and give the outputs their shapes. Outputs without use are empty.
ChannelShape PrepareBatchNorm(KernelContext& context, const BatchNormSpec& spec);
ChannelShape PrepareBatchNormGrad(KernelContext& context, const BatchNormSpec& spec);

}  // namespace lanescope::exec
