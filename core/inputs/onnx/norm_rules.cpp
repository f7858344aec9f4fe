// SPDX-License-Identifier: Apache-2.0
// Normalizations, by means and mean squares.
#include <algorithm>

#include "core/graph/small_float_tensor.h"
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

// Floats of 16 bits are computed in float, as ONNX wants it.
OnnxValue Wide(OnnxEmitter& to, const OnnxValue& x) {
  return HasSmallFloats(x.dtype()) ? to.Cast(x, DataType::kFloat) : x;
}

std::vector<int64_t> AxesFrom(int64_t first, int rank) {
  std::vector<int64_t> axes = AllAxes(rank);
  axes.erase(axes.begin(), axes.begin() + first);
  return axes;
}

OnnxValue OverRoot(OnnxEmitter& to, const OnnxValue& squares, float epsilon) {
  return to.Elementwise("Rsqrt", {to.Elementwise("AddV2", {squares, to.Number(epsilon, squares.dtype())})});
}

struct Normalized {
  OnnxValue result, mean, scale;
};

Normalized NormalizedOver(OnnxEmitter& to, const OnnxValue& x, const std::vector<int64_t>& axes,
                          float epsilon) {
  Normalized made;
  made.mean = Reduced(to, "Mean", x, axes, true);
  const OnnxValue variance =
      Reduced(to, "Mean", to.Elementwise("SquaredDifference", {x, made.mean}), axes, true);
  made.scale = OverRoot(to, variance, epsilon);
  made.result = to.Elementwise("Mul", {to.Elementwise("Sub", {x, made.mean}), made.scale});
  return made;
}

OnnxValues LayerNormalization(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || x.rank() == 0 || !IsFloat(x.dtype())) return {};
  const std::vector<int64_t> axes = AxesFrom(Axis(node.Int("axis", -1), x.rank()), x.rank());
  const Normalized made = NormalizedOver(to, Wide(to, x), axes, node.Float("epsilon", 1e-5f));
  OnnxValue result = to.Cast(made.result, x.dtype());
  if (inputs[1].exists()) result = to.Elementwise("Mul", {result, inputs[1]});
  if (inputs[2].exists()) result = to.Elementwise("AddV2", {result, inputs[2]});
  OnnxValues results{result, made.mean, made.scale};
  results.resize(std::min<size_t>(3, static_cast<size_t>(node.num_outputs())));
  return results;
}

// Without the mean.
OnnxValues RmsNormalization(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || x.rank() == 0 || !IsFloat(x.dtype()) || node.num_outputs() > 1) return {};
  const std::vector<int64_t> axes = AxesFrom(Axis(node.Int("axis", -1), x.rank()), x.rank());
  const OnnxValue wide = Wide(to, x);
  const OnnxValue squares = Reduced(to, "Mean", to.Elementwise("Square", {wide}), axes, true);
  const OnnxValue scale = OverRoot(to, squares, node.Float("epsilon", 1e-5f));
  const OnnxValue result = to.Cast(to.Elementwise("Mul", {wide, scale}), x.dtype());
  return {inputs[1].exists() ? to.Elementwise("Mul", {result, inputs[1]}) : result};
}

// Each group of channels by itself; before version 21 a scale and a bias for each group, not each channel.
OnnxValues GroupNormalization(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || x.rank() < 2 || !x.shape().IsExact() || !IsFloat(x.dtype())) return {};
  const Shape shape = x.shape();
  const bool each_alone = node.op() == "InstanceNormalization";
  const int64_t batch = shape.dim(0), channels = shape.dim(1);
  const int64_t groups = each_alone ? channels : node.Int("num_groups", 0);
  if (shape.NumElements() == 0 || groups < 1 || channels % groups != 0) return {};
  const OnnxValue grouped = to.Reshaped(Wide(to, x), {batch, groups, shape.NumElements() / batch / groups});
  OnnxValue result = NormalizedOver(to, grouped, {2}, node.Float("epsilon", 1e-5f)).result;
  result = to.Cast(result, x.dtype());
  const std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
  std::vector<int64_t> vector(sizes.size(), 1);
  vector[1] = channels;
  if (each_alone || node.opset() >= 21) {
    result = to.Reshaped(result, sizes);
  } else {
    vector = {1, groups, 1};
  }
  if (inputs[1].exists()) result = to.Node("Mul", {result, to.Reshaped(inputs[1], vector)});
  if (inputs[2].exists()) result = to.Node("AddV2", {result, to.Reshaped(inputs[2], vector)});
  return {each_alone || node.opset() >= 21 ? result : to.Reshaped(result, sizes)};
}

// Over its norm along an axis; what is zero stays.
OnnxValues LpNormalization(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  const int64_t p = node.Int("p", 2);
  if (!x.known_rank() || x.rank() == 0 || !IsFloat(x.dtype()) || p < 1 || p > 2) return {};
  const std::vector<int64_t> axes{Axis(node.Int("axis", -1), x.rank())};
  OnnxValue norm = Reduced(to, "Sum", to.Elementwise(p == 1 ? "Abs" : "Square", {x}), axes, true);
  if (p == 2) norm = to.Elementwise("Sqrt", {norm});
  return {to.Elementwise("DivNoNan", {x, norm})};
}

OnnxValues MeanVarianceNormalization(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || !IsFloat(x.dtype())) return {};
  const std::vector<int64_t> axes = node.Ints("axes", {0, 2, 3});
  const OnnxValue mean = Reduced(to, "Mean", x, axes, true);
  const OnnxValue centered = to.Elementwise("Sub", {x, mean});
  const OnnxValue deviation =
      to.Elementwise("Sqrt", {Reduced(to, "Mean", to.Elementwise("Square", {centered}), axes, true)});
  return {to.Elementwise("RealDiv",
                         {centered, to.Elementwise("AddV2", {deviation, to.Number(1e-9, x.dtype())})})};
}

}  // namespace

void AddNormRules(OnnxRules* rules) {
  rules->emplace("LayerNormalization", LayerNormalization);
  rules->emplace("RMSNormalization", RmsNormalization);
  rules->emplace("SimplifiedLayerNormalization", RmsNormalization);
  rules->emplace("GroupNormalization", GroupNormalization);
  rules->emplace("InstanceNormalization", GroupNormalization);
  rules->emplace("LpNormalization", LpNormalization);
  rules->emplace("MeanVarianceNormalization", MeanVarianceNormalization);
}

}  // namespace lanescope
