// Windows that move over the rows and columns of images: sizes, strides and padding of convolution and
// pooling.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/graph/ops/window.h"
#include "exec/kernel.h"

namespace lanescope::exec {

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

// Images [batch, rows.in, columns.in, channels] under windows.
struct ImageWindows {
  int64_t batch = 0;
  int64_t channels = 0;
  WindowDim rows;
  WindowDim columns;

  int64_t patch_elements() const { return rows.size * columns.size * channels; }
  int64_t positions() const { return batch * rows.out * columns.out; }
  int64_t in_row() const { return columns.in * channels; }
  int64_t out_row() const { return columns.out * channels; }
  // Of a result with so many channels.
  Shape OutputShape(int64_t of) const { return {batch, rows.out, columns.out, of}; }
};

// Height and width of an attribute of four numbers in the order NHWC; {1, 1} when it is missing. Throws
// Unimplemented unless batch and channels are 1, InvalidArgument for values out of [1, 2^31).
std::array<int64_t, 2> SpatialAttr(const Node& node, std::string_view attr);

// strides, dilations, padding and data_format of a node; NHWC only. Throws Unimplemented for another format
// or for strides over batch or channels, InvalidArgument for bad values.
class WindowAttrs {
 public:
  explicit WindowAttrs(const Node& node);

  // `axis` 1: height, 2: width. As inference has it (core/graph/ops/window.h); of SAME the odd cell of
  // padding is the last.
  WindowDim Resolve(int axis, int64_t in, int64_t size) const;

 private:
  std::array<ops::Window, 2> axes_;
  std::string padding_;
};

}  // namespace lanescope::exec
