// SPDX-License-Identifier: Apache-2.0
// Resizing: along each axis, means of elements by weights that the sizes alone decide.
#include <algorithm>
#include <cmath>

#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

constexpr int64_t kLargestAxis = int64_t{1} << 20;

// One element of the input for each of the output's along an axis, and how much it counts.
struct Tap {
  std::vector<int64_t> from;
  std::vector<float> weights;
};

struct ResizedAxis {
  int64_t in = 0, out = 0;
  double scale = 1;
};

// Where an output lies in the input.
double Coordinate(const std::string& mode, const ResizedAxis& axis, int64_t at) {
  const auto x = static_cast<float>(at);
  const auto scale = static_cast<float>(axis.scale);
  const auto in = static_cast<float>(axis.in), out = static_cast<float>(axis.out);
  if (mode == "asymmetric") return x / scale;
  if (mode == "align_corners") return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel" && axis.out == 1) return 0;
  const float centered = (x + 0.5f) / scale - 0.5f;
  if (mode != "half_pixel_symmetric") return centered;
  const float adjustment = out / (scale * in);
  return in / 2 * (1 - adjustment) + centered;
}

int64_t Nearest(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

// The weight of an element that far from the place, of Keys' cubic.
double Cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

std::vector<Tap> TapsOf(const OnnxNode& node, const ResizedAxis& axis) {
  const std::string mode = node.Text("mode", "nearest");
  const std::string usual = node.op() == "Upsample" ? "asymmetric" : "half_pixel";
  const std::string where = node.Text("coordinate_transformation_mode", usual);
  const std::string nearest =
      node.Text("nearest_mode", node.op() == "Upsample" ? "floor" : "round_prefer_floor");
  const double a = node.Float("cubic_coeff_a", -0.75f);
  const bool inside_only = node.Int("exclude_outside", 0) != 0;
  const int count = mode == "nearest" ? 1 : mode == "cubic" ? 4 : 2;
  std::vector<Tap> taps(static_cast<size_t>(count));
  for (int64_t at = 0; at < axis.out; ++at) {
    double x = Coordinate(where, axis, at);
    if (count == 2) x = std::clamp(x, 0.0, static_cast<double>(axis.in - 1));
    const auto below = static_cast<int64_t>(std::floor(x));
    double sum = 0;
    for (int tap = 0; tap < count; ++tap) {
      const int64_t from = count == 1 ? Nearest(nearest, x) : below + tap - (count / 2 - 1);
      double weight = 1;
      if (count == 2)
        weight = tap == 1 ? x - static_cast<double>(below) : 1 - (x - static_cast<double>(below));
      if (count == 4) weight = Cubic(x - static_cast<double>(from), a);
      if (count == 4 && inside_only && (from < 0 || from >= axis.in)) weight = 0;
      sum += weight;
      taps[static_cast<size_t>(tap)].from.push_back(std::clamp<int64_t>(from, 0, axis.in - 1));
      taps[static_cast<size_t>(tap)].weights.push_back(static_cast<float>(weight));
    }
    if (count == 4 && inside_only && sum != 0)
      for (Tap& tap : taps) tap.weights.back() = static_cast<float>(tap.weights.back() / sum);
  }
  return taps;
}

OnnxValue ResizedAlong(OnnxEmitter& to, const OnnxValue& x, int axis, const std::vector<Tap>& taps) {
  std::vector<int64_t> sizes(static_cast<size_t>(x.rank()), 1);
  sizes[static_cast<size_t>(axis)] = static_cast<int64_t>(taps[0].from.size());
  OnnxValue sum;
  for (const Tap& tap : taps) {
    OnnxValue part = to.Node("GatherV2", {x, to.Ints(tap.from), to.Int(axis)});
    if (taps.size() > 1) {
      Tensor weights(DataType::kFloat, Shape(std::span<const Dim>(sizes)));
      std::ranges::copy(tap.weights, weights.data<float>());
      part = to.Node("Mul", {part, to.Cast(to.Constant(std::move(weights)), x.dtype())});
    }
    sum = sum.exists() ? to.Node("AddV2", {sum, part}) : part;
  }
  return sum;
}

std::optional<std::vector<double>> ConstantFloats(const OnnxValue& value) {
  const Tensor* const tensor = value.constant();
  if (tensor == nullptr || tensor->dtype() != DataType::kFloat) return std::nullopt;
  return std::vector<double>(tensor->data<float>(), tensor->data<float>() + tensor->NumElements());
}

// By axis of the tensor; empty: not said by constants, or in a way that has no counterpart.
std::optional<std::vector<ResizedAxis>> ResizedAxesOf(const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  const size_t at = node.op() == "Upsample" || node.opset() < 11 ? 1 : 2;
  const auto given = [&](size_t i) {
    return i < inputs.size() && inputs[i].exists() ? inputs[i] : OnnxValue();
  };
  std::optional<std::vector<double>> scales;
  std::optional<std::vector<int64_t>> sizes;
  if (const OnnxValue value = given(at); value.exists()) scales = ConstantFloats(value);
  if (const OnnxValue value = given(3); at == 2 && value.exists()) sizes = ConstantInts(value);
  if (scales && scales->empty()) scales.reset();
  if (!scales && !sizes) return std::nullopt;
  const std::vector<int64_t> axes = node.Ints("axes", AllAxes(x.rank()));
  if ((sizes ? sizes->size() : scales->size()) != axes.size()) return std::nullopt;
  std::vector<ResizedAxis> resized;
  const Shape shape = x.shape();
  for (const Dim size : shape.dims()) resized.push_back({size, size, 1});
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizedAxis& axis = resized[static_cast<size_t>(Axis(axes[i], x.rank()))];
    const double wanted =
        sizes ? static_cast<double>((*sizes)[i]) : std::floor(static_cast<double>(axis.in) * (*scales)[i]);
    if (!(wanted >= 1 && wanted <= static_cast<double>(kLargestAxis)) || axis.in < 1) return std::nullopt;
    axis.out = static_cast<int64_t>(wanted);
    axis.scale = sizes ? wanted / static_cast<double>(axis.in) : (*scales)[i];
  }
  return resized;
}

OnnxValues Resize(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  static constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
  static constexpr std::string_view kPlaces[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                                 "align_corners", "asymmetric"};
  const auto is_one_of = [](const auto& list, const std::string& word) {
    return std::ranges::find(list, std::string_view(word)) != std::end(list);
  };
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || !x.shape().IsExact() || !is_one_of(kModes, node.Text("mode", "nearest")) ||
      !is_one_of(kPlaces, node.Text("coordinate_transformation_mode", "half_pixel")) ||
      node.Int("antialias", 0) != 0 || node.Text("keep_aspect_ratio_policy", "stretch") != "stretch" ||
      (node.Text("mode", "nearest") != "nearest" && !IsFloat(x.dtype())))
    return {};
  const std::optional<std::vector<ResizedAxis>> axes = ResizedAxesOf(node, inputs);
  if (!axes.has_value()) return {};
  OnnxValue result = x;
  for (int i = 0; i < x.rank(); ++i) {
    const ResizedAxis& axis = (*axes)[static_cast<size_t>(i)];
    if (axis.in != axis.out || axis.scale != 1) result = ResizedAlong(to, result, i, TapsOf(node, axis));
  }
  return {result.channels_last() ? to.Plain(result) : result};
}

}  // namespace

void AddResizeRules(OnnxRules* rules) {
  rules->emplace("Resize", Resize);
  rules->emplace("Upsample", Resize);
}

}  // namespace lanescope
