// SPDX-License-Identifier: Apache-2.0
// Functions of single elements that networks are made of, from simpler ones.
#include <algorithm>
#include <cmath>

#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

// Numbers of the type of `x`, and ops on it.
class Elements {
 public:
  Elements(OnnxEmitter& to, DataType dtype) : to_(to), dtype_(dtype) {}

  OnnxValue Number(double value) { return to_.Number(value, dtype_); }
  OnnxValue Of(std::string_view op, const OnnxValue& x) { return to_.Elementwise(op, {x}); }
  OnnxValue Of(std::string_view op, const OnnxValue& x, const OnnxValue& y) {
    return to_.Elementwise(op, {x, y});
  }
  OnnxValue Of(std::string_view op, const OnnxValue& x, double y) { return Of(op, x, Number(y)); }
  OnnxValue Select(const OnnxValue& where, const OnnxValue& yes, const OnnxValue& no) {
    return to_.Elementwise("SelectV2", {where, yes, no});
  }

 private:
  OnnxEmitter& to_;
  const DataType dtype_;
};

OnnxValues LeakyRelu(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  return {to.Elementwise("LeakyRelu", {inputs[0]}, {{"alpha", node.Float("alpha", 0.01f)}})};
}

// max(0, x) + alpha * (exp(min(0, x) / width) - 1): what is below zero bends.
OnnxValue Bent(Elements e, const OnnxValue& x, double alpha, double width) {
  OnnxValue below = e.Of("Minimum", x, 0.0);
  if (width != 1) below = e.Of("RealDiv", below, width);
  below = e.Of("Expm1", below);
  if (alpha != 1) below = e.Of("Mul", below, alpha);
  return e.Of("AddV2", e.Of("Maximum", x, 0.0), below);
}

OnnxValues Elu(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  const double alpha = node.Float("alpha", 1);
  if (alpha == 1) return {to.Elementwise("Elu", {x})};
  return {Bent({to, x.dtype()}, x, alpha, 1)};
}

OnnxValues Celu(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const double alpha = node.Float("alpha", 1);
  if (alpha == 0) return {};
  return {Bent({to, inputs[0].dtype()}, inputs[0], alpha, alpha)};
}

OnnxValues Selu(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const float alpha = node.Float("alpha", 1.67326319217681884765625f);
  const float gamma = node.Float("gamma", 1.05070102214813232421875f);
  Elements e(to, inputs[0].dtype());
  return {e.Of("Mul", Bent(e, inputs[0], alpha, 1), gamma)};
}

OnnxValues PRelu(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  Elements e(to, inputs[0].dtype());
  const OnnxValue negative = e.Of("Mul", e.Of("Minimum", inputs[0], 0.0), inputs[1]);
  return {e.Of("AddV2", e.Of("Maximum", inputs[0], 0.0), negative)};
}

OnnxValues ThresholdedRelu(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  Elements e(to, inputs[0].dtype());
  const OnnxValue above = e.Of("Greater", inputs[0], node.Float("alpha", 1));
  return {e.Select(above, inputs[0], e.Number(0))};
}

// Towards zero by `bias`, and zero near it.
OnnxValues Shrink(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  const double lambda = node.Float("lambd", 0.5f), bias = node.Float("bias", 0);
  Elements e(to, x.dtype());
  if (!IsFloat(x.dtype())) return {};
  const OnnxValue above = e.Select(e.Of("Greater", x, lambda), e.Of("Sub", x, bias), e.Number(0));
  return {e.Select(e.Of("Less", x, -lambda), e.Of("AddV2", x, bias), above)};
}

OnnxValue HardSigmoidOf(Elements e, const OnnxValue& x, double alpha, double beta) {
  const OnnxValue line = e.Of("AddV2", e.Of("Mul", x, alpha), beta);
  return e.Of("Minimum", e.Of("Maximum", line, 0.0), 1.0);
}

OnnxValues HardSigmoid(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  return {
      HardSigmoidOf({to, inputs[0].dtype()}, inputs[0], node.Float("alpha", 0.2f), node.Float("beta", 0.5f))};
}

OnnxValues HardSwish(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  Elements e(to, inputs[0].dtype());
  return {e.Of("Mul", inputs[0], HardSigmoidOf(e, inputs[0], 1.0 / 6, 0.5))};
}

// Also ONNX Runtime's QuickGelu.
OnnxValues Swish(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  const double alpha = node.Float("alpha", node.op() == "QuickGelu" ? 1.702f : 1);
  Elements e(to, x.dtype());
  return {e.Of("Mul", x, e.Of("Sigmoid", alpha == 1 ? x : e.Of("Mul", x, alpha)))};
}

OnnxValues Mish(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  Elements e(to, inputs[0].dtype());
  return {e.Of("Mul", inputs[0], e.Of("Tanh", e.Of("Softplus", inputs[0])))};
}

OnnxValue GeluOf(Elements e, const OnnxValue& x, bool by_tanh) {
  OnnxValue share;
  if (by_tanh) {
    const OnnxValue cube = e.Of("Mul", e.Of("Square", x), x);
    const OnnxValue sum = e.Of("AddV2", x, e.Of("Mul", cube, 0.044715));
    share = e.Of("Tanh", e.Of("Mul", sum, std::sqrt(2 / M_PI)));
  } else {
    share = e.Of("Erf", e.Of("Mul", x, std::sqrt(0.5)));
  }
  return e.Of("Mul", e.Of("Mul", x, 0.5), e.Of("AddV2", share, 1.0));
}

OnnxValues Gelu(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  return {GeluOf({to, inputs[0].dtype()}, inputs[0], node.Text("approximate", "none") == "tanh")};
}

// ONNX Runtime's BiasGelu and FastGelu.
OnnxValues GeluOfSum(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  Elements e(to, inputs[0].dtype());
  const OnnxValue x = inputs[1].exists() ? e.Of("AddV2", inputs[0], inputs[1]) : inputs[0];
  return {GeluOf(e, x, node.op() == "FastGelu")};
}

}  // namespace

void AddActivationRules(OnnxRules* rules) {
  rules->emplace("LeakyRelu", LeakyRelu);
  rules->emplace("Elu", Elu);
  rules->emplace("Celu", Celu);
  rules->emplace("Selu", Selu);
  rules->emplace("PRelu", PRelu);
  rules->emplace("ThresholdedRelu", ThresholdedRelu);
  rules->emplace("Shrink", Shrink);
  rules->emplace("HardSigmoid", HardSigmoid);
  rules->emplace("HardSwish", HardSwish);
  rules->emplace("Swish", Swish);
  rules->emplace("Mish", Mish);
  rules->emplace("Gelu", Gelu);
  rules->emplace("com.microsoft.QuickGelu", Swish);
  rules->emplace("com.microsoft.Gelu", Gelu);
  rules->emplace("com.microsoft.BiasGelu", GeluOfSum);
  rules->emplace("com.microsoft.FastGelu", GeluOfSum);
}

}  // namespace lanescope
