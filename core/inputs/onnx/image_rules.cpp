// SPDX-License-Identifier: Apache-2.0
// Pooling of lines, images and volumes, and normalization of images. Kernels of hosts want channels last.
#include <algorithm>
#include <limits>

#include "core/inputs/onnx/onnx_node.h"
#include "core/inputs/onnx/window.h"

namespace lanescope {
namespace {

// Images, or volumes, with their channels last: the emitter knows of images alone that they lie so.
OnnxValue Turned(OnnxEmitter& to, const OnnxValue& x) {
  return x.rank() == 5 ? to.Transposed(x, {0, 2, 3, 4, 1}) : to.ChannelsLast(x);
}

OnnxValue TurnedNode(OnnxEmitter& to, std::string_view op, const OnnxValues& inputs,
                     const OnnxEmitter::Attrs& attrs = {}) {
  return inputs[0].channels_last() ? to.ImageNode(op, inputs, attrs) : to.Node(op, inputs, attrs);
}

// Turned images, with `number` around them.
OnnxValue Padded(OnnxEmitter& to, const OnnxValue& turned, const OnnxWindow& window,
                 const OnnxValue& number) {
  if (!window.padded()) return turned;
  return TurnedNode(to, "PadV2", {turned, to.Constant(window.PaddingOf(false)), number});
}

// `op`: "MaxPool" or "AvgPool".
OnnxValue Pooled(OnnxEmitter& to, const std::string& op, const OnnxValue& padded, const OnnxWindow& window) {
  OnnxEmitter::Attrs attrs = ImageAttrs(window);
  attrs.emplace_back("ksize", AmongChannels(window.kernel));
  attrs.emplace_back("padding", std::string("VALID"));
  return TurnedNode(to, window.axes() == 3 ? op + "3D" : op, {padded}, attrs);
}

// Padding never is the largest.
OnnxValue MaxPooled(OnnxEmitter& to, const OnnxValue& x, const OnnxWindow& window) {
  const double least = x.dtype() == DataType::kFloat ? std::numeric_limits<float>::lowest()
                                                     : std::numeric_limits<double>::lowest();
  return Pooled(to, "MaxPool", Padded(to, Turned(to, x), window, to.Number(least, x.dtype())), window);
}

bool IsSmallTable(const Shape& shape) {
  int64_t left = int64_t{1} << 24;
  for (const int64_t size : shape.dims()) {
    if (size == 0 || size > left) return false;
    left /= size;
  }
  return true;
}

// Elements of a window from `begin` on that lie from `least` to before `most`.
int64_t NumInside(int64_t begin, int64_t kernel, int64_t dilation, int64_t least, int64_t most) {
  const auto before = [&](int64_t bound) {
    return std::clamp<int64_t>((bound - begin + dilation - 1) / dilation, 0, kernel);
  };
  return before(most) - before(least);
}

// How many numbers each mean is of: the elements of its window that lie in the tensor and, where it counts,
// in what the model pads that with. The same for every image and channel. Empty: there are too many.
std::optional<Tensor> MeanCounts(const Shape& x, const OnnxWindow& window, const std::vector<int64_t>& pads,
                                 bool padding_counts) {
  Shape shape{1, 1};
  std::vector<std::vector<int64_t>> along;
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    const int64_t size = x.dim(static_cast<int>(axis) + 2), begin = -window.pads[axis];
    const int64_t room = size - begin + window.pads[axis + window.axes()] - window.Reach(axis);
    if (room < 0) return std::nullopt;
    shape.Append(room / window.strides[axis] + 1);
    if (!IsSmallTable(shape)) return std::nullopt;
    const int64_t least = padding_counts ? -pads[axis] : 0;
    const int64_t most = padding_counts ? size + pads[axis + window.axes()] : size;
    along.emplace_back();
    for (int64_t at = 0; at <= room; at += window.strides[axis])
      along.back().push_back(NumInside(begin + at, window.kernel[axis], window.dilations[axis], least, most));
  }
  Tensor counts(DataType::kFloat, shape);
  for (int64_t i = 0; i < counts.NumElements(); ++i) {
    int64_t left = i, count = 1;
    for (size_t axis = along.size(); axis-- > 0;) {
      const auto size = static_cast<int64_t>(along[axis].size());
      count *= along[axis][static_cast<size_t>(left % size)];
      left /= size;
    }
    counts.data<float>()[i] = static_cast<float>(count);
  }
  return counts;
}

// Sums every window by a convolution of one channel whose filter is ones: pools know no dilations.
OnnxValue SumOfDilated(OnnxEmitter& to, const OnnxValue& x, const OnnxWindow& window) {
  OnnxWindow volume = window;
  const Shape shape = x.shape();
  std::vector<int64_t> sizes(shape.dims().begin() + 2, shape.dims().end());
  while (volume.axes() < 3) {
    for (auto* numbers : {&volume.kernel, &volume.strides, &volume.dilations, &sizes})
      numbers->insert(numbers->begin(), 1);
    volume.pads.insert(volume.pads.begin() + static_cast<std::ptrdiff_t>(volume.axes()) - 1, 0);
    volume.pads.insert(volume.pads.begin(), 0);
  }
  const int64_t images = shape.dim(0) * shape.dim(1);
  OnnxValue each = to.Reshaped(x, {images, sizes[0], sizes[1], sizes[2], 1});
  if (volume.padded())
    each = to.Node("PadV2", {each, to.Constant(volume.PaddingOf(false)), to.Number(0, x.dtype())});
  Tensor ones(DataType::kFloat, Shape{volume.kernel[0], volume.kernel[1], volume.kernel[2], 1, 1});
  std::fill_n(ones.data<float>(), ones.NumElements(), 1.0f);
  return to.Node("Conv3D", {each, to.Constant(std::move(ones))},
                 {{"strides", AmongChannels(volume.strides)},
                  {"dilations", AmongChannels(volume.dilations)},
                  {"padding", std::string("VALID")}});
}

bool IsDilated(const OnnxWindow& window) {
  return std::ranges::any_of(window.dilations, [](int64_t each) { return each != 1; });
}

// `pads`: of the model. They count where it says so, what else is around the tensor never does. Nothing
// where a table is too large.
std::optional<OnnxValue> MeanPooled(OnnxEmitter& to, const OnnxValue& x, const OnnxWindow& window,
                                    const std::vector<int64_t>& pads, bool padding_counts) {
  const bool dilated = IsDilated(window);
  const bool all_count = !window.padded() || (padding_counts && window.pads == pads);
  const auto pooled = [&] {
    return Pooled(to, "AvgPool", Padded(to, Turned(to, x), window, to.Number(0, x.dtype())), window);
  };
  if (!dilated && all_count) return pooled();
  if (x.dtype() != DataType::kFloat || !IsSmallTable(Shape(std::span<const Dim>(window.kernel))))
    return std::nullopt;
  std::optional<Tensor> counts = MeanCounts(x.shape(), window, pads, padding_counts);
  if (!counts) return std::nullopt;
  if (dilated) {
    Shape shape = counts->shape();
    shape.set_dim(0, x.shape().dim(0));
    shape.set_dim(1, x.shape().dim(1));
    const OnnxValue sum =
        to.Reshaped(SumOfDilated(to, x, window), {shape.dims().begin(), shape.dims().end()});
    return Turned(to, to.Node("RealDiv", {sum, to.Constant(std::move(*counts))}));
  }
  float whole = 1;
  for (const int64_t size : window.kernel) whole *= static_cast<float>(size);
  for (int64_t i = 0; i < counts->NumElements(); ++i) counts->data<float>()[i] /= whole;
  return TurnedNode(to, "RealDiv", {pooled(), Turned(to, to.Constant(std::move(*counts)))});
}

// The last window may begin inside the tensor and end beyond what pads it.
void RoundUp(const Shape& shape, OnnxWindow* window) {
  for (size_t axis = 0; axis < window->axes(); ++axis) {
    const int64_t size = shape.dim(static_cast<int>(axis) + 2), before = window->pads[axis];
    int64_t& after = window->pads[axis + window->axes()];
    const int64_t left = size + before + after - window->Reach(axis);
    if (left < 0 || left % window->strides[axis] == 0) continue;
    const int64_t last = (left / window->strides[axis] + 1) * window->strides[axis];
    if (last < size + before) after += last - left;
  }
}

OnnxValues Pool(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  OnnxValue x = inputs[0];
  const bool largest = node.op() == "MaxPool";
  if (!x.known_rank() || node.num_outputs() != 1 || x.rank() > 5 ||
      (largest ? x.dtype() != DataType::kFloat && x.dtype() != DataType::kDouble : !IsFloat(x.dtype())) ||
      (x.rank() == 5 && x.dtype() != DataType::kFloat))
    return {};
  std::optional<OnnxWindow> window = OnnxWindowOf(node, x.shape(), node.Ints("kernel_shape", {}));
  if (!window.has_value() || (largest && IsDilated(*window))) return {};
  const bool line = x.rank() == 3;
  if (line) {
    x = AsImages(to, x);
    window = window->OfImages();
  }
  const std::vector<int64_t> pads = window->pads;
  if (node.Int("ceil_mode", 0) != 0) RoundUp(x.shape(), &*window);
  const std::optional<OnnxValue> result =
      largest ? MaxPooled(to, x, *window)
              : MeanPooled(to, x, *window, pads, node.Int("count_include_pad", 0) != 0);
  if (!result.has_value()) return {};
  if (x.rank() == 5) return {to.Transposed(*result, {0, 4, 1, 2, 3})};
  return {line ? to.Node("Squeeze", {*result}, {{"squeeze_dims", std::vector<int64_t>{2}}}) : *result};
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
  rules->emplace("MaxPool", Pool);
  rules->emplace("AveragePool", Pool);
  rules->emplace("GlobalAveragePool", GlobalPool);
  rules->emplace("GlobalMaxPool", GlobalPool);
  rules->emplace("BatchNormalization", BatchNormalization);
}

}  // namespace lanescope
