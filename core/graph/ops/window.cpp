#include "core/graph/ops/window.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/common.h"

namespace lanescope::ops {
namespace {

// Sizes of windows, strides and paddings beyond this are nonsense, and products of two still fit.
constexpr int64_t kMaxExtent = int64_t{1} << 30;

int64_t AxisAttr(const Node& node, std::string_view attr, int axis, int64_t fallback) {
  if (node.FindAttr(attr) == nullptr) return fallback;
  const std::vector<int64_t>& list = node.IntListAttr(attr);
  if (list.size() != 4)
    Throw(Code::kInvalidArgument, "attribute '{}' needs 4 numbers, not {}", attr, list.size());
  return list[static_cast<size_t>(axis)];
}

void CheckExtent(std::string_view what, int64_t value, int64_t smallest) {
  if (value < smallest || value > kMaxExtent) {
    Throw(Code::kInvalidArgument, "{} of {} is not between {} and {}", what, value, smallest, kMaxExtent);
  }
}

}  // namespace

ImageAxes AxesOf(const Node& node) {
  const std::string format = node.StringAttr("data_format", "NHWC");
  if (format == "NHWC") return {0, 1, 2, 3};
  if (format == "NCHW") return {0, 2, 3, 1};
  Throw(Code::kUnimplemented, "data format {} (NHWC and NCHW are supported)", format);
}

Window WindowOf(const Node& node, int axis, int64_t size) {
  Window window;
  window.size = size;
  window.stride = AxisAttr(node, "strides", axis, 1);
  window.dilation = AxisAttr(node, "dilations", axis, 1);
  if (node.StringAttr("padding", "") == "EXPLICIT") {
    const std::vector<int64_t>& paddings = node.IntListAttr("explicit_paddings");
    if (paddings.size() != 8) {
      Throw(Code::kInvalidArgument, "attribute 'explicit_paddings' needs 8 numbers, not {}", paddings.size());
    }
    window.before = paddings[static_cast<size_t>(2 * axis)];
    window.after = paddings[static_cast<size_t>(2 * axis + 1)];
  }
  CheckExtent("stride", window.stride, 1);
  CheckExtent("dilation", window.dilation, 1);
  CheckExtent("padding", window.before, 0);
  CheckExtent("padding", window.after, 0);
  return window;
}

Dim WindowedDim(Dim input, const Window& window, std::string_view padding) {
  CheckExtent("window size", window.size, 1);
  const int64_t reach = (window.size - 1) * window.dilation + 1;
  if (padding == "SAME") {
    return MapDim(input, [&](int64_t n) { return n / window.stride + (n % window.stride != 0); });
  }
  const int64_t added = padding == "EXPLICIT" ? window.before + window.after : 0;
  const auto windows = [&](int64_t n) { return (n + added - reach + window.stride) / window.stride; };
  if (IsExact(input) && windows(input) < 0) {
    Throw(
        Code::kInvalidArgument,
        "Computed output size would be negative: {} [input_size: {}, effective_filter_size: {}, stride: {}]",
        windows(input), input, reach, window.stride);
  }
  return MapDim(input, [&](int64_t n) { return std::max<int64_t>(0, windows(n)); });
}

}  // namespace lanescope::ops
