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

// What is turned, with `number` around it.
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

// Padding counts where the model says so; else each sum is divided by how many numbers it is of. Nothing
// where that is a table too large.
std::optional<OnnxValue> MeanPooled(OnnxEmitter& to, const OnnxValue& x, const OnnxWindow& window,
                                    bool padding_counts) {
  const OnnxValue zero = to.Number(0, x.dtype());
  const OnnxValue mean = Pooled(to, "AvgPool", Padded(to, Turned(to, x), window, zero), window);
  if (!window.padded() || padding_counts) return mean;
  Shape places = x.shape();
  places.set_dim(0, 1);
  places.set_dim(1, 1);
  if (x.dtype() != DataType::kFloat || !IsSmallTable(places)) return std::nullopt;
  Tensor ones(DataType::kFloat, places);
  std::fill_n(ones.data<float>(), ones.NumElements(), 1.0f);
  const OnnxValue all = Turned(to, to.Constant(std::move(ones)));
  return TurnedNode(to, "RealDiv", {mean, Pooled(to, "AvgPool", Padded(to, all, window, zero), window)});
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
  const bool largest = node.op() == "MaxPool", round_up = node.Int("ceil_mode", 0) != 0;
  if (!x.known_rank() || node.num_outputs() != 1 || x.rank() > 5 || (round_up && !largest) ||
      (largest ? x.dtype() != DataType::kFloat && x.dtype() != DataType::kDouble : !IsFloat(x.dtype())) ||
      (x.rank() == 5 && x.dtype() != DataType::kFloat))
    return {};
  std::optional<OnnxWindow> window = OnnxWindowOf(node, x.shape(), node.Ints("kernel_shape", {}));
  if (!window.has_value() || std::ranges::any_of(window->dilations, [](int64_t each) { return each != 1; }))
    return {};
  if (round_up) RoundUp(x.shape(), &*window);
  const bool line = x.rank() == 3;
  if (line) {
    x = AsImages(to, x);
    window = window->OfImages();
  }
  const std::optional<OnnxValue> result =
      largest ? MaxPooled(to, x, *window) : MeanPooled(to, x, *window, node.Int("count_include_pad", 0) != 0);
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
