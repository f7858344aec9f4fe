// Convolutions and pooling. Kernels of hosts want channels last, filters with their outputs last.
#include <algorithm>
#include <limits>

#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

// A window on two axes.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads;  // above, left, below, right

  bool padded() const {
    return std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; });
  }
  OnnxEmitter::Attrs Attrs() const {
    return {{"strides", std::vector<int64_t>{1, strides[0], strides[1], 1}},
            {"data_format", std::string("NHWC")}};
  }
  OnnxEmitter::Attrs Pooling() const {
    OnnxEmitter::Attrs attrs = Attrs();
    attrs.emplace_back("ksize", std::vector<int64_t>{1, kernel[0], kernel[1], 1});
    attrs.emplace_back("padding", std::string("VALID"));
    return attrs;
  }
};

// What `auto_pad` comes to on one axis: as many outputs as strides fit in the input.
std::pair<int64_t, int64_t> SamePads(int64_t size, int64_t kernel, int64_t stride, bool upper) {
  const int64_t outputs = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>(0, (outputs - 1) * stride + kernel - size);
  const int64_t less = total / 2, more = total - less;
  return upper ? std::make_pair(less, more) : std::make_pair(more, less);
}

// Empty where the window is on other than two axes, or says what none here can be.
std::optional<Window> WindowOf(const OnnxNode& node, const OnnxValue& x, std::vector<int64_t> kernel) {
  Window window{std::move(kernel), node.Ints("strides", {1, 1}), node.Ints("dilations", {1, 1}),
                node.Ints("pads", {0, 0, 0, 0})};
  const auto good = [](const std::vector<int64_t>& values, size_t count, int64_t least) {
    constexpr int64_t kMost = int64_t{1} << 30;
    return values.size() == count &&
           std::ranges::all_of(values, [&](int64_t value) { return value >= least && value <= kMost; });
  };
  if (x.rank() != 4 || !x.shape().IsExact() || !good(window.kernel, 2, 1) || !good(window.strides, 2, 1) ||
      !good(window.dilations, 2, 1) || !good(window.pads, 4, 0) || node.Int("ceil_mode", 0) != 0)
    return std::nullopt;
  const std::string automatic = node.Text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t reach = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
      std::tie(window.pads[axis], window.pads[axis + 2]) = SamePads(
          x.shape().dim(static_cast<int>(axis) + 2), reach, window.strides[axis], automatic == "SAME_UPPER");
    }
  } else if (automatic == "VALID") {
    window.pads = {0, 0, 0, 0};
  } else if (automatic != "NOTSET") {
    return std::nullopt;
  }
  return window;
}

// The images with `number` around them.
OnnxValue Padded(OnnxEmitter& to, const OnnxValue& images, const Window& window, const OnnxValue& number) {
  if (!window.padded()) return images;
  const std::vector<int64_t>& pads = window.pads;
  const OnnxValue sizes = to.Constant(Tensor::FromValues<int32_t>(
      {4, 2}, {0, 0, static_cast<int32_t>(pads[0]), static_cast<int32_t>(pads[2]),
               static_cast<int32_t>(pads[1]), static_cast<int32_t>(pads[3]), 0, 0}));
  return to.ImageNode("PadV2", {images, sizes, number});
}

OnnxValues Conv(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue &x = inputs[0], &filter = inputs[1];
  if (!x.known_rank() || filter.rank() != 4 || !filter.shape().IsExact() || !IsFloat(x.dtype())) return {};
  const Shape shape = filter.shape();
  const std::optional<Window> window =
      WindowOf(node, x, node.Ints("kernel_shape", {shape.dim(2), shape.dim(3)}));
  if (!window.has_value() || window->kernel != std::vector<int64_t>{shape.dim(2), shape.dim(3)}) return {};
  const int64_t groups = node.Int("group", 1), channels = x.shape().dim(1);
  const bool depthwise = groups > 1 && groups == channels && shape.dim(1) == 1;
  if (groups != 1 && !depthwise) return {};
  OnnxEmitter::Attrs attrs = window->Attrs();
  attrs.emplace_back("dilations", std::vector<int64_t>{1, window->dilations[0], window->dilations[1], 1});
  const std::vector<int64_t>& pads = window->pads;
  attrs.emplace_back("padding", std::string(window->padded() ? "EXPLICIT" : "VALID"));
  attrs.emplace_back("explicit_paddings",
                     window->padded() ? std::vector<int64_t>{0, 0, pads[0], pads[2], pads[1], pads[3], 0, 0}
                                      : std::vector<int64_t>{});
  OnnxValue filters = to.Transposed(filter, {2, 3, 1, 0});
  if (depthwise) {
    // Outputs of a channel lie together: [h, w, 1, channels * each] is [h, w, channels, each].
    filters = to.Reshaped(filters, {shape.dim(2), shape.dim(3), channels, shape.dim(0) / channels});
  }
  OnnxValue result =
      to.ImageNode(depthwise ? "DepthwiseConv2dNative" : "Conv2D", {to.ChannelsLast(x), filters}, attrs);
  if (inputs[2].exists())
    result = to.ImageNode("BiasAdd", {result, inputs[2]}, {{"data_format", std::string("NHWC")}});
  return {result};
}

// Padding never is the largest.
OnnxValues MaxPool(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || node.num_outputs() != 1 ||
      (x.dtype() != DataType::kFloat && x.dtype() != DataType::kDouble))
    return {};
  const std::optional<Window> window = WindowOf(node, x, node.Ints("kernel_shape", {}));
  if (!window.has_value() || window->dilations != std::vector<int64_t>{1, 1}) return {};
  const double least = x.dtype() == DataType::kFloat ? std::numeric_limits<float>::lowest()
                                                     : std::numeric_limits<double>::lowest();
  const OnnxValue padded = Padded(to, to.ChannelsLast(x), *window, to.Number(least, x.dtype()));
  return {to.ImageNode("MaxPool", {padded}, window->Pooling())};
}

// Padding counts where the model says so; else each sum is divided by how many numbers it is of.
OnnxValues AveragePool(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || !IsFloat(x.dtype())) return {};
  const std::optional<Window> window = WindowOf(node, x, node.Ints("kernel_shape", {}));
  if (!window.has_value() || window->dilations != std::vector<int64_t>{1, 1}) return {};
  const OnnxValue images = to.ChannelsLast(x), zero = to.Number(0, x.dtype());
  OnnxValue mean = to.ImageNode("AvgPool", {Padded(to, images, *window, zero)}, window->Pooling());
  if (!window->padded() || node.Int("count_include_pad", 0) != 0) return {mean};
  if (x.dtype() != DataType::kFloat) return {};
  constexpr int64_t kMostPlaces = int64_t{1} << 24;
  const Shape shape = x.shape();
  if (shape.dim(2) == 0 || shape.dim(3) == 0 || shape.dim(2) > kMostPlaces / shape.dim(3)) return {};
  Tensor ones(DataType::kFloat, Shape{1, 1, shape.dim(2), shape.dim(3)});
  std::fill_n(ones.data<float>(), ones.NumElements(), 1.0f);
  const OnnxValue all = to.ChannelsLast(to.Constant(std::move(ones)));
  const OnnxValue share = to.ImageNode("AvgPool", {Padded(to, all, *window, zero)}, window->Pooling());
  return {to.ImageNode("RealDiv", {mean, share})};
}

OnnxValues GlobalPool(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  if (!inputs[0].known_rank() || inputs[0].rank() < 3) return {};
  std::vector<int64_t> axes = AllAxes(inputs[0].rank());
  axes.erase(axes.begin(), axes.begin() + 2);
  return {Reduced(to, node.op() == "GlobalMaxPool" ? "Max" : "Mean", inputs[0], axes, true)};
}

OnnxValues BatchNormalization(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  if (inputs.size() < 5 || !inputs[4].exists() || node.Int("training_mode", 0) != 0 ||
      node.num_outputs() != 1)
    return {};
  const OnnxValue& x = inputs[0];
  const float epsilon = node.Float("epsilon", 1e-5f);
  if (!x.known_rank() || x.rank() < 2) return {};
  if (x.rank() == 4 && x.dtype() == DataType::kFloat)
    return {
        to.ImageNode("FusedBatchNormV3", {to.ChannelsLast(x), inputs[1], inputs[2], inputs[3], inputs[4]},
                     {{"epsilon", epsilon}, {"is_training", false}, {"data_format", std::string("NHWC")}})};
  std::vector<int64_t> sizes(static_cast<size_t>(x.rank()) - 1, 1);
  sizes[0] = -1;
  const auto channels = [&](const OnnxValue& value) { return to.Reshaped(value, sizes); };
  const OnnxValue scale = to.Node(
      "Mul", {inputs[1], to.Node("Rsqrt", {to.Node("AddV2", {inputs[4], to.Number(epsilon, x.dtype())})})});
  const OnnxValue centered = to.Node("Sub", {x, channels(inputs[3])});
  return {to.Node("AddV2", {to.Node("Mul", {centered, channels(scale)}), channels(inputs[2])})};
}

}  // namespace

void AddImageRules(OnnxRules* rules) {
  rules->emplace("Conv", Conv);
  rules->emplace("MaxPool", MaxPool);
  rules->emplace("AveragePool", AveragePool);
  rules->emplace("GlobalAveragePool", GlobalPool);
  rules->emplace("GlobalMaxPool", GlobalPool);
  rules->emplace("BatchNormalization", BatchNormalization);
}

}  // namespace lanescope
