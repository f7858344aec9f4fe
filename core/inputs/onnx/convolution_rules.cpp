// SPDX-License-Identifier: Apache-2.0
// Convolutions of lines, images and volumes, and transposed ones. Kernels of hosts want channels last,
// filters with their outputs last.
#include <algorithm>
#include <cstring>

#include "core/inputs/onnx/onnx_node.h"
#include "core/inputs/onnx/window.h"

namespace lanescope {
namespace {

constexpr int64_t kMostGroups = 256;

OnnxEmitter::Attrs ConvolutionAttrs(const OnnxWindow& window) {
  OnnxEmitter::Attrs attrs = ImageAttrs(window);
  attrs.emplace_back("dilations", AmongChannels(window.dilations));
  const std::vector<int64_t>& pads = window.pads;
  attrs.emplace_back("padding", std::string(window.padded() ? "EXPLICIT" : "VALID"));
  attrs.emplace_back("explicit_paddings",
                     window.padded() ? std::vector<int64_t>{0, 0, pads[0], pads[2], pads[1], pads[3], 0, 0}
                                     : std::vector<int64_t>{});
  return attrs;
}

// Equal parts along the first axis; constants are cut when the model is read.
OnnxValues CutFilters(OnnxEmitter& to, const OnnxValue& filter, int64_t parts) {
  const int64_t each = filter.shape().dim(0) / parts;
  const Tensor* const constant = filter.constant();
  if (constant == nullptr)
    return to.Nodes("SplitV",
                    {filter, to.Ints(std::vector<int64_t>(static_cast<size_t>(parts), each)), to.Int(0)},
                    {{"num_split", parts}});
  Shape shape = filter.shape();
  shape.set_dim(0, each);
  OnnxValues cut;
  for (int64_t part = 0; part < parts; ++part) {
    Tensor tensor(constant->dtype(), shape);
    std::memcpy(tensor.raw_data(), static_cast<const char*>(constant->raw_data()) + part * tensor.ByteSize(),
                static_cast<size_t>(tensor.ByteSize()));
    cut.push_back(to.Constant(std::move(tensor)));
  }
  return cut;
}

// Images in as many parts of their channels.
OnnxValues CutImages(OnnxEmitter& to, const OnnxValue& images, int64_t parts) {
  const std::vector<int64_t> sizes(static_cast<size_t>(parts), images.shape().dim(1) / parts);
  return to.ImageNodes("SplitV", {images, to.Ints(sizes), to.Int(3)}, {{"num_split", parts}});
}

OnnxValue JoinImages(OnnxEmitter& to, OnnxValues parts) {
  const auto count = static_cast<int64_t>(parts.size());
  if (count == 1) return parts[0];
  parts.push_back(to.Int(3));
  return to.ImageNode("ConcatV2", parts, {{"N", count}});
}

OnnxValue ConvolvedImages(OnnxEmitter& to, const OnnxValue& x, const OnnxValue& filter, int64_t groups,
                          const OnnxWindow& window) {
  const Shape shape = filter.shape();
  const int64_t channels = x.shape().dim(1);
  const OnnxEmitter::Attrs attrs = ConvolutionAttrs(window);
  const OnnxValue images = to.ChannelsLast(x);
  const auto turned = [&](const OnnxValue& filters) { return to.Transposed(filters, {2, 3, 1, 0}); };
  if (groups == 1) return to.ImageNode("Conv2D", {images, turned(filter)}, attrs);
  if (groups == channels && shape.dim(1) == 1) {
    // Outputs of a channel lie together: [h, w, 1, channels * each] is [h, w, channels, each].
    const OnnxValue filters =
        to.Reshaped(turned(filter), {shape.dim(2), shape.dim(3), channels, shape.dim(0) / channels});
    return to.ImageNode("DepthwiseConv2dNative", {images, filters}, attrs);
  }
  const OnnxValues filters = CutFilters(to, filter, groups);
  OnnxValues parts = CutImages(to, images, groups);
  for (size_t i = 0; i < parts.size(); ++i)
    parts[i] = to.ImageNode("Conv2D", {parts[i], turned(filters[i])}, attrs);
  return JoinImages(to, parts);
}

OnnxValue ConvolvedVolumes(OnnxEmitter& to, const OnnxValue& x, const OnnxValue& filter,
                           const OnnxWindow& window) {
  OnnxValue volumes = to.Transposed(x, {0, 2, 3, 4, 1});
  if (window.padded())
    volumes = to.Node("PadV2", {volumes, to.Constant(window.PaddingOf(false)), to.Number(0, x.dtype())});
  const OnnxValue result = to.Node("Conv3D", {volumes, to.Transposed(filter, {2, 3, 4, 1, 0})},
                                   {{"strides", AmongChannels(window.strides)},
                                    {"dilations", AmongChannels(window.dilations)},
                                    {"padding", std::string("VALID")}});
  return to.Transposed(result, {0, 4, 1, 2, 3});
}

OnnxValue WithBias(OnnxEmitter& to, const OnnxValue& result, const OnnxValue& bias) {
  if (!bias.exists()) return result;
  if (result.channels_last())
    return to.ImageNode("BiasAdd", {result, bias}, {{"data_format", std::string("NHWC")}});
  std::vector<int64_t> sizes(static_cast<size_t>(result.rank()) - 1, 1);
  sizes[0] = -1;
  return to.Node("AddV2", {result, to.Reshaped(bias, sizes)});
}

OnnxValue AsLine(OnnxEmitter& to, const OnnxValue& images) {
  return to.Node("Squeeze", {images}, {{"squeeze_dims", std::vector<int64_t>{2}}});
}

std::vector<int64_t> KernelOf(const OnnxValue& filter) {
  const Shape shape = filter.shape();
  return {shape.dims().begin() + 2, shape.dims().end()};
}

OnnxValues Conv(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  OnnxValue x = inputs[0], filter = inputs[1];
  if (!x.known_rank() || x.rank() < 3 || x.rank() > 5 || filter.rank() != x.rank() ||
      !filter.shape().IsExact() || !IsFloat(x.dtype()))
    return {};
  std::optional<OnnxWindow> window = OnnxWindowOf(node, x.shape(), KernelOf(filter));
  const int64_t groups = node.Int("group", 1), channels = x.shape().dim(1), outputs = filter.shape().dim(0);
  if (!window.has_value() || node.Ints("kernel_shape", window->kernel) != window->kernel || groups < 1 ||
      channels != groups * filter.shape().dim(1) || outputs % groups != 0)
    return {};
  const bool depthwise = groups == channels && outputs >= channels;
  if (groups > kMostGroups && !depthwise) return {};
  if (x.rank() == 5) {
    if (groups != 1) return {};
    return {WithBias(to, ConvolvedVolumes(to, x, filter, *window), inputs[2])};
  }
  const bool line = x.rank() == 3;
  if (line) {
    x = AsImages(to, x);
    filter = AsImages(to, filter);
    window = window->OfImages();
  }
  const OnnxValue result = WithBias(to, ConvolvedImages(to, x, filter, groups, *window), inputs[2]);
  return {line ? AsLine(to, result) : result};
}

// How far the result of a transposed convolution goes on each axis, its pads put right for that. Empty: not
// as a convolution here could have had it.
std::optional<std::vector<int64_t>> TransposedSizes(const OnnxNode& node, const Shape& x,
                                                    OnnxWindow* window) {
  const size_t axes = window->axes();
  const std::vector<int64_t> beyond = node.Ints("output_padding", std::vector<int64_t>(axes, 0));
  const std::optional<std::vector<int64_t>> given = node.Ints("output_shape");
  const std::string automatic = node.Text("auto_pad", "NOTSET");
  if (beyond.size() != axes || (given && given->size() < axes)) return std::nullopt;
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t stride = window->strides[axis], size = x.dim(static_cast<int>(axis) + 2);
    if (beyond[axis] < 0 || beyond[axis] >= std::max(stride, window->dilations[axis])) return std::nullopt;
    const int64_t whole = stride * (size - 1) + beyond[axis] + window->Reach(axis);
    int64_t &before = window->pads[axis], &after = window->pads[axis + axes];
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (given || same) {
      const int64_t wanted = given ? (*given)[given->size() - axes + axis] : size * stride;
      const int64_t total = std::max<int64_t>(0, whole - wanted);
      before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
      sizes.push_back(wanted);  // what is beyond all products is zero
    } else {
      sizes.push_back(whole - before - after);
    }
    // The convolution of the result is the input again.
    const int64_t left = sizes[axis] + before + after - window->Reach(axis);
    if (sizes[axis] < 1 || left < 0 || left / stride + 1 != size) return std::nullopt;
  }
  return sizes;
}

// The gradient of a convolution by its images. Filters are [inputs, outputs of a group, ...].
OnnxValues ConvTranspose(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  OnnxValue x = inputs[0], filter = inputs[1];
  if (!x.known_rank() || x.rank() < 3 || x.rank() > 4 || filter.rank() != x.rank() ||
      !filter.shape().IsExact() || !x.shape().IsExact() || !IsFloat(x.dtype()))
    return {};
  const int64_t groups = node.Int("group", 1);
  std::optional<OnnxWindow> window = OnnxWindowOf(node, x.shape(), KernelOf(filter));
  if (!window.has_value() || groups < 1 || groups > kMostGroups || filter.shape().dim(0) % groups != 0 ||
      filter.shape().dim(0) != x.shape().dim(1))
    return {};
  std::optional<std::vector<int64_t>> sizes = TransposedSizes(node, x.shape(), &*window);
  if (!sizes.has_value()) return {};
  const bool line = x.rank() == 3;
  if (line) {
    x = AsImages(to, x);
    filter = AsImages(to, filter);
    window = window->OfImages();
    sizes->insert(sizes->begin(), 1);
  }
  const OnnxValue whole = to.Ints({x.shape().dim(0), (*sizes)[0], (*sizes)[1], filter.shape().dim(1)});
  const OnnxValues filters = groups == 1 ? OnnxValues{filter} : CutFilters(to, filter, groups);
  const OnnxValue images = to.ChannelsLast(x);
  OnnxValues parts = groups == 1 ? OnnxValues{images} : CutImages(to, images, groups);
  for (size_t i = 0; i < parts.size(); ++i)
    parts[i] = to.ImageNode("Conv2DBackpropInput", {whole, to.Transposed(filters[i], {2, 3, 1, 0}), parts[i]},
                            ConvolutionAttrs(*window));
  const OnnxValue result = WithBias(to, JoinImages(to, parts), inputs[2]);
  return {line ? AsLine(to, result) : result};
}

// ONNX Runtime's: a convolution, what is added to it, and a function of that.
OnnxValues FusedConv(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  static constexpr std::string_view kFunctions[] = {"", "Relu", "Tanh", "Sigmoid"};
  const std::string function = node.Text("activation", "");
  if (std::ranges::find(kFunctions, function) == std::end(kFunctions)) return {};
  const OnnxValues convolved = Conv(to, node, inputs);
  if (convolved.empty()) return {};
  OnnxValue result = convolved[0];
  if (inputs.size() > 3 && inputs[3].exists()) result = to.Elementwise("AddV2", {result, inputs[3]});
  return {function.empty() ? result : to.Elementwise(function, {result})};
}

}  // namespace

void AddConvolutionRules(OnnxRules* rules) {
  rules->emplace("Conv", Conv);
  rules->emplace("ConvTranspose", ConvTranspose);
  rules->emplace("com.microsoft.FusedConv", FusedConv);
}

}  // namespace lanescope
