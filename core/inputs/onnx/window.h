// SPDX-License-Identifier: Apache-2.0
// Windows of convolutions and pools on the axes behind batch and channels. Internal to core.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {

struct OnnxWindow {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads;  // before each axis, then behind each

  size_t axes() const { return kernel.size(); }
  bool padded() const;
  // From the first to behind the last element that it sees.
  int64_t Reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  // For PadV2 of a tensor with its channels last, or first.
  Tensor PaddingOf(bool channels_first) const;
  // A window of one axis as one of two, the first of which is 1.
  OnnxWindow OfImages() const;
};

// With `auto_pad` as numbers. Empty where it says what none here can be.
std::optional<OnnxWindow> OnnxWindowOf(const OnnxNode& node, const Shape& x, std::vector<int64_t> kernel);
// One number for each axis of a tensor with its channels last: these, and 1 for batch and channels.
std::vector<int64_t> AmongChannels(const std::vector<int64_t>& numbers);
// Attributes of nodes on images or volumes with their channels last.
OnnxEmitter::Attrs ImageAttrs(const OnnxWindow& window);
// [batch, channels, length] as images of one row.
OnnxValue AsImages(OnnxEmitter& to, const OnnxValue& line);

}  // namespace lanescope
