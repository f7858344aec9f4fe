// SPDX-License-Identifier: Apache-2.0
// Sliding windows of convolution and pooling, for inference and kernels: attributes, where the axes of an
// image tensor lie, and how many windows fit.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/graph/op.h"

namespace lanescope::ops {

// Axis numbers of a 4-D image tensor by its data format.
struct ImageAxes {
  int batch = 0, height = 1, width = 2, channel = 3;
};
// NHWC or NCHW; throws Unimplemented for others.
ImageAxes AxesOf(const Node& node);
// A shape of rank 4, open where `shape` is; throws InvalidArgument, calling it `what`, for another rank.
Shape ImageShape(std::string_view what, const Shape& shape);

// By axis; an attribute that is missing says 1. Throws InvalidArgument for values out of [1, 2^30],
// Unimplemented unless those of batch and channels are 1.
using AxisSizes = std::array<int64_t, 4>;
AxisSizes AxisSizesOf(const Node& node, std::string_view attr);

// One spatial dimension. in + before + after cells are covered by `out` windows of `size` taps, `dilation`
// cells apart, that start every `stride` cells.
struct WindowDim {
  int64_t in = 0;
  int64_t out = 0;
  int64_t size = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  int64_t after = 0;

  int64_t reach() const { return (size - 1) * dilation + 1; }
};

// How windows move along one dimension.
struct WindowStep {
  int64_t stride = 1, dilation = 1;
  bool same = false;  // padded so that there are ceil(in / stride) windows
  int64_t before = 0, after = 0;

  // How many windows of `size` taps cover `in` cells, by the formulas of TensorFlow's kernels. A bound stays
  // a bound. Throws InvalidArgument for a window that is empty, or larger than the input by more than a
  // stride.
  Dim Count(Dim in, Dim size) const;
  // One dimension with its padding; with SAME an odd cell comes last.
  WindowDim Along(int64_t in, int64_t size) const;
};

// Sizes of windows, strides and paddings beyond this are nonsense, and products of two still fit.
inline constexpr int64_t kMaxExtent = int64_t{1} << 30;
// Throws InvalidArgument unless smallest <= value <= kMaxExtent.
void CheckExtent(std::string_view what, int64_t value, int64_t smallest);

// How windows move: strides, dilations, padding and data_format of a node.
class WindowRule {
 public:
  // Throws InvalidArgument for bad values, Unimplemented for windows that move over batch or channels.
  explicit WindowRule(const Node& node);

  const ImageAxes& axes() const { return axes_; }
  // Along the height or the width.
  Dim CountAlong(int axis, Dim in, Dim size) const { return StepOf(axis).Count(in, size); }
  WindowDim Along(int axis, int64_t in, int64_t size) const { return StepOf(axis).Along(in, size); }

 private:
  WindowStep StepOf(int axis) const;

  ImageAxes axes_;
  std::string padding_;
  AxisSizes strides_, dilations_;
  AxisSizes before_{}, after_{};  // of EXPLICIT
};

}  // namespace lanescope::ops
