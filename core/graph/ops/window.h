// Sliding windows of convolution and pooling: where the axes of an image tensor lie, and how many windows
// fit.
#pragma once

#include <vector>

#include "core/graph/op.h"

namespace lanescope::ops {

// Axis numbers of a 4-D image tensor by its data format.
struct ImageAxes {
  int batch = 0, height = 1, width = 2, channel = 3;
};
// NHWC or NCHW; throws Unimplemented for others.
ImageAxes AxesOf(const Node& node);

// One spatial axis of a sliding window. `padding` = "SAME", "VALID" or "EXPLICIT" with `before` and `after`.
struct Window {
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0;
};
// Output size of one axis (the formulas of TensorFlow's kernels); a bound stays a bound: VALID leaves out
// what does not fit, SAME gives ceil(input / stride) windows. Throws InvalidArgument for a window that is
// empty, or larger than the input by more than a stride.
Dim WindowedDim(Dim input, const Window& window, std::string_view padding);

// Strides, dilations and explicit paddings of axis `axis` from the node's attributes; `size` is the window's.
// Throws InvalidArgument for a stride below 1.
Window WindowOf(const Node& node, int axis, int64_t size);

}  // namespace lanescope::ops
