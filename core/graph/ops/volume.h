// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling of volumes, for inference and kernels: attributes, axes, and the shapes of results.
// Shapes may be open. All throw InvalidArgument, in TensorFlow's words, for what does not fit.
#pragma once

#include <array>

#include "core/graph/ops/window.h"

namespace lanescope::ops {

// Axis numbers of a tensor of volumes by its data format; the cells lie along depth, height and width.
struct VolumeAxes {
  int batch = 0;
  std::array<int, 3> cells = {1, 2, 3};
  int channel = 4;
};

// A shape of rank 5, open where `shape` is; throws, calling it `what`, for another rank.
Shape VolumeShape(std::string_view what, const Shape& shape);

// Volumes in the node's format, NDHWC or NCDHW.
class VolumeWindows {
 public:
  explicit VolumeWindows(const Node& node);

  const VolumeAxes& axes() const { return axes_; }
  const WindowStep& step(size_t d) const { return steps_[d]; }
  // `sizes`: of windows along depth, height and width. The channels are those of the volumes.
  Shape ResultOf(const Shape& volumes, const std::array<Dim, 3>& sizes) const;
  std::array<WindowDim, 3> Along(const Shape& volumes, const std::array<int64_t, 3>& sizes) const;

 private:
  VolumeAxes axes_;
  std::array<WindowStep, 3> steps_;
};

// Conv3D under a filter [depth, height, width, in, out], and its gradients.
class VolumeConvolutionRule {
 public:
  explicit VolumeConvolutionRule(const Node& node) : windows_(node) {}

  const VolumeWindows& windows() const { return windows_; }
  Shape ResultOf(const Shape& volumes, const Shape& filter) const;
  // `gradient` is as the result of the convolution; `volumes` and `filter` are shapes that the node is given.
  void CheckGradient(const Shape& volumes, const Shape& filter, const Shape& gradient) const;

 private:
  VolumeWindows windows_;
};

class VolumePoolRule {
 public:
  explicit VolumePoolRule(const Node& node);

  const VolumeWindows& windows() const { return windows_; }
  const std::array<int64_t, 3>& sizes() const { return sizes_; }
  int64_t cells() const { return sizes_[0] * sizes_[1] * sizes_[2]; }
  Shape ResultOf(const Shape& volumes) const;
  // For MaxPool3DGrad: `gradient` is as `pooled`.
  Shape MaxGradientOf(const Shape& volumes, const Shape& pooled, const Shape& gradient) const;
  // For MaxPool3DGradGrad: `gradient` is as `volumes`.
  Shape MaxSecondGradientOf(const Shape& volumes, const Shape& pooled, const Shape& gradient) const;
  // `sizes`: the shape of the volumes.
  Shape AvgGradientOf(const Shape& sizes, const Shape& gradient) const;

 private:
  VolumeWindows windows_;
  std::array<int64_t, 3> sizes_;
};

}  // namespace lanescope::ops
