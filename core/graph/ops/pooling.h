// SPDX-License-Identifier: Apache-2.0
// Arguments of pooling and its gradients, for inference and kernels.
#pragma once

#include "core/graph/ops/common.h"
#include "core/graph/ops/window.h"

namespace lanescope::ops {

// Shapes may be open. All throw InvalidArgument, in TensorFlow's words, for what does not fit.
class PoolRule {
 public:
  explicit PoolRule(const Node& node) : windows_(node), sizes_(AxisSizesOf(node, "ksize")) {}

  const WindowRule& windows() const { return windows_; }
  int64_t size(int axis) const { return sizes_[static_cast<size_t>(axis)]; }
  // Cells of a window.
  int64_t area() const { return SaturatingMul(size(windows_.axes().height), size(windows_.axes().width)); }

  Shape ResultOf(const Shape& images) const;
  // For MaxPoolGrad `gradient` is as `pooled`, for MaxPoolGradGrad as the images.
  Shape MaxGradientOf(const Shape& images, const Shape& pooled, const Shape& gradient) const;
  Shape MaxSecondOf(const Shape& images, const Shape& pooled, const Shape& gradient) const;
  // `sizes`: the shape of the images.
  Shape AvgGradientOf(const Shape& sizes, const Shape& gradient) const;

 private:
  WindowRule windows_;
  AxisSizes sizes_;
};

}  // namespace lanescope::ops
