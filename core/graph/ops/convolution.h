// SPDX-License-Identifier: Apache-2.0
// Arguments of convolutions and their gradients, for inference and kernels.
#pragma once

#include "core/graph/ops/window.h"

namespace lanescope::ops {

// Images in the node's format under an HWIO filter. Depthwise, every channel has filters of its own, and the
// filter's last dimension says how many. Shapes may be open. All throw InvalidArgument for what does not fit.
class ConvolutionRule {
 public:
  explicit ConvolutionRule(const Node& node) : windows_(node), depthwise_(node.op.starts_with("Depthwise")) {}

  const WindowRule& windows() const { return windows_; }
  Shape ResultOf(const Shape& images, const Shape& filter) const;
  // Results of the gradients; `gradient` is as the result of the convolution. `sizes`: of the images, or
  // their height and width alone, which leave the batch to the gradient and the channels to the filter.
  Shape ImagesOf(const Shape& sizes, const Shape& filter, const Shape& gradient) const;
  Shape FilterOf(const Shape& images, const Shape& sizes, const Shape& gradient) const;

 private:
  void CheckDepths(Dim channels, Dim depth) const;
  void CheckGradient(const Shape& gradient, const Shape& result) const;

  WindowRule windows_;
  bool depthwise_;
};

}  // namespace lanescope::ops
