// Windows that move over the rows and columns of images: sizes, strides and padding of convolution and
// pooling.
#pragma once

#include <array>
#include <string_view>

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

// Height and width of an attribute of four numbers in the order NHWC; {1, 1} when it is missing. Throws
// Unimplemented unless batch and channels are 1, InvalidArgument for values out of [1, 2^31).
std::array<int64_t, 2> SpatialAttr(const Node& node, std::string_view attr);

// strides, dilations, padding and data_format of a node; NHWC only. Throws Unimplemented for another format
// or for strides over batch or channels, InvalidArgument for bad values.
class WindowAttrs {
 public:
  explicit WindowAttrs(const Node& node);

  // `axis` 1: height, 2: width. TensorFlow's rules: VALID leaves out what does not fit; SAME gives
  // ceil(in / stride) windows, the odd cell of padding last.
  WindowDim Resolve(int axis, int64_t in, int64_t size) const;

 private:
  enum class Padding { kValid, kSame, kExplicit };
  std::array<int64_t, 2> strides_{1, 1};
  std::array<int64_t, 2> dilations_{1, 1};
  std::array<int64_t, 4> explicit_{};  // before and after, height and width
  Padding padding_ = Padding::kValid;
};

}  // namespace lanescope::exec
