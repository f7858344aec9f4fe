// SPDX-License-Identifier: Apache-2.0
// Models of classical machine learning (the domain ai.onnx.ml) that are products and sums.
#include <algorithm>

#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

OnnxValue Vector(OnnxEmitter& to, const std::vector<float>& numbers) {
  return to.Constant(Tensor::FromValues<float>({static_cast<int64_t>(numbers.size())}, numbers));
}

bool IsTable(const OnnxValue& x) { return x.known_rank() && x.rank() == 2 && x.shape().IsExact(); }

OnnxValues Scaler(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue x = to.Cast(inputs[0], DataType::kFloat);
  const std::vector<float> offset = node.Floats("offset"), scale = node.Floats("scale");
  if (!IsTable(x) || scale.empty()) return {};
  const OnnxValue centered = offset.empty() ? x : to.Node("Sub", {x, Vector(to, offset)});
  return {to.Node("Mul", {centered, Vector(to, scale)})};
}

// [rows, features] by [results, features], with what is added to each result. Nothing: they do not fit.
std::optional<OnnxValue> LinearScores(OnnxEmitter& to, const OnnxNode& node, const OnnxValue& input,
                                      int64_t results) {
  const OnnxValue x = to.Cast(input, DataType::kFloat);
  const std::vector<float> coefficients = node.Floats("coefficients"), added = node.Floats("intercepts");
  if (!IsTable(x) || results < 1 || (!added.empty() && static_cast<int64_t>(added.size()) != results) ||
      static_cast<int64_t>(coefficients.size()) != results * x.shape().dim(1))
    return std::nullopt;
  const OnnxValue matrix = to.Constant(Tensor::FromValues<float>({results, x.shape().dim(1)}, coefficients));
  const OnnxValue product = to.Node("MatMul", {x, matrix}, {{"transpose_b", true}});
  return added.empty() ? product : to.Node("AddV2", {product, Vector(to, added)});
}

// Empty: no op here is that function.
std::optional<OnnxValue> Transformed(OnnxEmitter& to, const OnnxNode& node, const OnnxValue& scores) {
  const std::string function = node.Text("post_transform", "NONE");
  if (function == "NONE") return scores;
  if (function == "SOFTMAX") return to.Node("Softmax", {scores});
  if (function == "LOGISTIC") return to.Node("Sigmoid", {scores});
  return std::nullopt;
}

OnnxValues LinearRegressor(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const std::optional<OnnxValue> scores = LinearScores(to, node, inputs[0], node.Int("targets", 1));
  const std::optional<OnnxValue> result = scores ? Transformed(to, node, *scores) : std::nullopt;
  if (!result) return {};
  return {*result};
}

// The label of the largest score, and all scores.
OnnxValues LinearClassifier(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const std::vector<int64_t> labels = node.Ints("classlabels_ints", {});
  if (labels.size() < 2) return {};
  const auto classes = static_cast<int64_t>(labels.size());
  const std::optional<OnnxValue> scores = LinearScores(to, node, inputs[0], classes);
  const std::optional<OnnxValue> result = scores ? Transformed(to, node, *scores) : std::nullopt;
  if (!result) return {};
  const OnnxValue best = to.Node("ArgMax", {*scores, to.Int(1)}, {{"output_type", DataType::kInt64}});
  const OnnxValue names = to.Constant(Tensor::FromValues<int64_t>({classes}, labels));
  return {to.Node("GatherV2", {names, best, to.Int(0)}), *result};
}

// Rows over their largest, sum or length.
OnnxValues Normalizer(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue x = to.Cast(inputs[0], DataType::kFloat);
  if (!IsTable(x)) return {};
  const std::string norm = node.Text("norm", "MAX");
  OnnxValue size;
  if (norm == "L1") {
    size = Reduced(to, "Sum", to.Node("Abs", {x}), {1}, true);
  } else if (norm == "L2") {
    size = to.Node("Sqrt", {Reduced(to, "Sum", to.Node("Square", {x}), {1}, true)});
  } else {
    return {};
  }
  return {to.Node("DivNoNan", {x, size})};
}

OnnxValues ArrayFeatures(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || x.rank() < 2 || !inputs[1].exists()) return {};
  const OnnxValue columns = to.Reshaped(inputs[1], {-1});
  return {to.Node("GatherV2", {x, columns, to.Int(x.rank() - 1)})};
}

OnnxValues Binarizer(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!IsFloat(x.dtype())) return {};
  return {
      to.Cast(to.Elementwise("Greater", {x, to.Number(node.Float("threshold", 0), x.dtype())}), x.dtype())};
}

}  // namespace

void AddModelRules(OnnxRules* rules) {
  rules->emplace("ai.onnx.ml.Scaler", Scaler);
  rules->emplace("ai.onnx.ml.LinearRegressor", LinearRegressor);
  rules->emplace("ai.onnx.ml.LinearClassifier", LinearClassifier);
  rules->emplace("ai.onnx.ml.Normalizer", Normalizer);
  rules->emplace("ai.onnx.ml.ArrayFeatureExtractor", ArrayFeatures);
  rules->emplace("ai.onnx.ml.Binarizer", Binarizer);
}

}  // namespace lanescope
