// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/window.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/common.h"

namespace lanescope::ops {
void CheckExtent(std::string_view what, int64_t value, int64_t smallest) {
  if (value < smallest || value > kMaxExtent) {
    Throw(Code::kInvalidArgument, "{} of {} is not between {} and {}", what, value, smallest, kMaxExtent);
  }
}

ImageAxes AxesOf(const Node& node) {
  const std::string format = node.StringAttr("data_format", "NHWC");
  if (format == "NHWC") return {0, 1, 2, 3};
  if (format == "NCHW") return {0, 2, 3, 1};
  Throw(Code::kUnimplemented, "data format {} (NHWC and NCHW are supported)", format);
}

Shape ImageShape(std::string_view what, const Shape& shape) {
  if (!shape.known_rank()) return UnknownOfRank(4);
  if (shape.rank() == 4) return shape;
  Throw(Code::kInvalidArgument, "{} must be 4-dimensional: {}", what, shape.ToString());
}

AxisSizes AxisSizesOf(const Node& node, std::string_view attr) {
  if (node.FindAttr(attr) == nullptr) return {1, 1, 1, 1};
  const std::vector<int64_t>& list = node.IntListAttr(attr);
  if (list.size() != 4)
    Throw(Code::kInvalidArgument, "attribute '{}' needs 4 numbers, not {}", attr, list.size());
  AxisSizes sizes;
  std::ranges::copy(list, sizes.begin());
  for (const int64_t size : sizes) CheckExtent(attr, size, 1);
  const ImageAxes axes = AxesOf(node);
  if (sizes[static_cast<size_t>(axes.batch)] != 1 || sizes[static_cast<size_t>(axes.channel)] != 1) {
    Throw(Code::kUnimplemented, "{} over the batch or the channels", attr);
  }
  return sizes;
}

WindowRule::WindowRule(const Node& node)
    : axes_(AxesOf(node)),
      padding_(node.StringAttr("padding")),
      strides_(AxisSizesOf(node, "strides")),
      dilations_(AxisSizesOf(node, "dilations")) {
  if (node.FindAttr("explicit_paddings") == nullptr) return;
  const std::vector<int64_t>& paddings = node.IntListAttr("explicit_paddings");
  if (padding_ != "EXPLICIT" && !paddings.empty()) {
    Throw(Code::kInvalidArgument,
          "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
  }
  if (padding_ != "EXPLICIT") return;
  if (paddings.size() != 8) {
    Throw(Code::kInvalidArgument, "explicit_paddings attribute must contain 8 values, but got: {}",
          paddings.size());
  }
  for (size_t axis = 0; axis < 4; ++axis) {
    before_[axis] = paddings[2 * axis];
    after_[axis] = paddings[2 * axis + 1];
    CheckExtent("padding", before_[axis], 0);
    CheckExtent("padding", after_[axis], 0);
  }
  for (const int axis : {axes_.batch, axes_.channel}) {
    if (before_[static_cast<size_t>(axis)] == 0 && after_[static_cast<size_t>(axis)] == 0) continue;
    Throw(Code::kInvalidArgument,
          "Nonzero explicit padding in the batch or depth dimensions is not supported");
  }
}

WindowStep WindowRule::StepOf(int axis) const {
  const auto at = static_cast<size_t>(axis);
  return {strides_[at], dilations_[at], padding_ == "SAME", before_[at], after_[at]};
}

Dim WindowStep::Count(Dim in, Dim size) const {
  if (IsExact(size)) CheckExtent("window size", size, 1);
  if (same) return MapDim(in, [&](int64_t n) { return n / stride + (n % stride != 0); });
  if (!IsExact(size)) return kUnknownDim;
  const int64_t reach = (size - 1) * dilation + 1;
  const auto windows = [&](int64_t n) { return (n + before + after - reach + stride) / stride; };
  if (IsExact(in) && windows(in) < 0) {
    Throw(
        Code::kInvalidArgument,
        "Computed output size would be negative: {} [input_size: {}, effective_filter_size: {}, stride: {}]",
        windows(in), in, reach, stride);
  }
  return MapDim(in, [&](int64_t n) { return std::max<int64_t>(0, windows(n)); });
}

WindowDim WindowStep::Along(int64_t in, int64_t size) const {
  WindowDim dim{in, Count(in, size), size, stride, dilation, before, after};
  if (same) {
    const int64_t needed = std::max<int64_t>(0, (dim.out - 1) * dim.stride + dim.reach() - in);
    dim.before = needed / 2;
    dim.after = needed - dim.before;
  }
  return dim;
}

}  // namespace lanescope::ops
