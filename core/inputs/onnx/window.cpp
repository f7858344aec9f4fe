// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx/window.h"

#include <algorithm>

namespace lanescope {
namespace {

// The padding of `auto_pad` on one axis: there are as many outputs as strides fit in the input.
std::pair<int64_t, int64_t> SamePads(int64_t size, int64_t kernel, int64_t stride, bool upper) {
  const int64_t outputs = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>(0, (outputs - 1) * stride + kernel - size);
  const int64_t less = total / 2, more = total - less;
  return upper ? std::make_pair(less, more) : std::make_pair(more, less);
}

}  // namespace

bool OnnxWindow::padded() const {
  return std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; });
}

Tensor OnnxWindow::PaddingOf(bool channels_first) const {
  Tensor sizes(DataType::kInt32, Shape{static_cast<int64_t>(axes()) + 2, 2});
  for (size_t axis = 0; axis < axes(); ++axis) {
    const size_t row = axis + (channels_first ? 2 : 1);
    sizes.data<int32_t>()[2 * row] = static_cast<int32_t>(pads[axis]);
    sizes.data<int32_t>()[2 * row + 1] = static_cast<int32_t>(pads[axis + axes()]);
  }
  return sizes;
}

OnnxWindow OnnxWindow::OfImages() const {
  return {{1, kernel[0]}, {1, strides[0]}, {1, dilations[0]}, {0, pads[0], 0, pads[1]}};
}

std::optional<OnnxWindow> OnnxWindowOf(const OnnxNode& node, const Shape& x, std::vector<int64_t> kernel) {
  if (!x.IsExact() || x.rank() < 3) return std::nullopt;
  const auto axes = static_cast<size_t>(x.rank()) - 2;
  OnnxWindow window{std::move(kernel), node.Ints("strides", std::vector<int64_t>(axes, 1)),
                    node.Ints("dilations", std::vector<int64_t>(axes, 1)),
                    node.Ints("pads", std::vector<int64_t>(2 * axes, 0))};
  const auto good = [](const std::vector<int64_t>& values, size_t count, int64_t least) {
    constexpr int64_t kMost = int64_t{1} << 30;
    return values.size() == count &&
           std::ranges::all_of(values, [&](int64_t value) { return value >= least && value <= kMost; });
  };
  if (!good(window.kernel, axes, 1) || !good(window.strides, axes, 1) || !good(window.dilations, axes, 1) ||
      !good(window.pads, 2 * axes, 0))
    return std::nullopt;
  const std::string automatic = node.Text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (size_t axis = 0; axis < axes; ++axis)
      std::tie(window.pads[axis], window.pads[axis + axes]) =
          SamePads(x.dim(static_cast<int>(axis) + 2), window.Reach(axis), window.strides[axis],
                   automatic == "SAME_UPPER");
  } else if (automatic == "VALID") {
    std::ranges::fill(window.pads, 0);
  } else if (automatic != "NOTSET") {
    return std::nullopt;
  }
  return window;
}

std::vector<int64_t> AmongChannels(const std::vector<int64_t>& numbers) {
  std::vector<int64_t> all{1};
  all.insert(all.end(), numbers.begin(), numbers.end());
  all.push_back(1);
  return all;
}

OnnxEmitter::Attrs ImageAttrs(const OnnxWindow& window) {
  return {{"strides", AmongChannels(window.strides)},
          {"data_format", std::string(window.axes() == 3 ? "NDHWC" : "NHWC")}};
}

OnnxValue AsImages(OnnxEmitter& to, const OnnxValue& line) {
  const Shape shape = line.shape();
  return to.Reshaped(line, {shape.dim(0), shape.dim(1), 1, shape.dim(2)});
}

}  // namespace lanescope
