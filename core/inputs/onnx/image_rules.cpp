// Pooling and normalization of images. Kernels of hosts want channels last.
#include <algorithm>
#include <limits>

#include "core/inputs/onnx/onnx_node.h"
#include "core/inputs/onnx/window.h"

namespace lanescope {
namespace {

// The images with `number` around them; `window` is on two axes.
OnnxValue Padded(OnnxEmitter& to, const OnnxValue& images, const OnnxWindow& window,
                 const OnnxValue& number) {
  if (!window.padded()) return images;
  return to.ImageNode("PadV2", {images, to.Constant(window.PaddingOf(false)), number});
}

OnnxEmitter::Attrs PoolingAttrs(const OnnxWindow& window) {
  OnnxEmitter::Attrs attrs = ImageAttrs(window);
  attrs.emplace_back("ksize", std::vector<int64_t>{1, window.kernel[0], window.kernel[1], 1});
  attrs.emplace_back("padding", std::string("VALID"));
  return attrs;
}

// Padding never is the largest.
OnnxValue MaxPooled(OnnxEmitter& to, const OnnxValue& x, const OnnxWindow& window) {
  const double least = x.dtype() == DataType::kFloat ? std::numeric_limits<float>::lowest()
                                                     : std::numeric_limits<double>::lowest();
  const OnnxValue padded = Padded(to, to.ChannelsLast(x), window, to.Number(least, x.dtype()));
  return to.ImageNode("MaxPool", {padded}, PoolingAttrs(window));
}

// Padding counts where the model says so; else each sum is divided by how many numbers it is of. Nothing
// where that is a table too large.
std::optional<OnnxValue> MeanPooled(OnnxEmitter& to, const OnnxValue& x, const OnnxWindow& window,
                                    bool padding_counts) {
  const OnnxValue images = to.ChannelsLast(x), zero = to.Number(0, x.dtype());
  const OnnxValue mean = to.ImageNode("AvgPool", {Padded(to, images, window, zero)}, PoolingAttrs(window));
  if (!window.padded() || padding_counts) return mean;
  constexpr int64_t kMostPlaces = int64_t{1} << 24;
  const Shape shape = x.shape();
  if (x.dtype() != DataType::kFloat || shape.dim(2) == 0 || shape.dim(3) == 0 ||
      shape.dim(2) > kMostPlaces / shape.dim(3))
    return std::nullopt;
  Tensor ones(DataType::kFloat, Shape{1, 1, shape.dim(2), shape.dim(3)});
  std::fill_n(ones.data<float>(), ones.NumElements(), 1.0f);
  const OnnxValue all = to.ChannelsLast(to.Constant(std::move(ones)));
  const OnnxValue share = to.ImageNode("AvgPool", {Padded(to, all, window, zero)}, PoolingAttrs(window));
  return to.ImageNode("RealDiv", {mean, share});
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
  if (!x.known_rank() || node.num_outputs() != 1 || x.rank() > 4 || (round_up && !largest) ||
      (largest ? x.dtype() != DataType::kFloat && x.dtype() != DataType::kDouble : !IsFloat(x.dtype())))
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
