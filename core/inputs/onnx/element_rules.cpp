// SPDX-License-Identifier: Apache-2.0
// Ops on single elements.
#include <algorithm>

#include "core/inputs/onnx/onnx_node.h"
#include "core/inputs/onnx/onnx_tensor.h"
#include "core/inputs/onnx/small_elements.h"

namespace lanescope {
namespace {

// Ops with the same meaning here and there, by ONNX's name.
constexpr std::pair<std::string_view, std::string_view> kUnary[] = {{"Abs", "Abs"},
                                                                    {"Neg", "Neg"},
                                                                    {"Sign", "Sign"},
                                                                    {"Sqrt", "Sqrt"},
                                                                    {"Exp", "Exp"},
                                                                    {"Log", "Log"},
                                                                    {"Sin", "Sin"},
                                                                    {"Cos", "Cos"},
                                                                    {"Tan", "Tan"},
                                                                    {"Asin", "Asin"},
                                                                    {"Acos", "Acos"},
                                                                    {"Atan", "Atan"},
                                                                    {"Sinh", "Sinh"},
                                                                    {"Cosh", "Cosh"},
                                                                    {"Tanh", "Tanh"},
                                                                    {"Sigmoid", "Sigmoid"},
                                                                    {"Erf", "Erf"},
                                                                    {"Floor", "Floor"},
                                                                    {"Ceil", "Ceil"},
                                                                    {"Round", "Round"},
                                                                    {"Relu", "Relu"},
                                                                    {"Softplus", "Softplus"},
                                                                    {"Softsign", "Softsign"},
                                                                    {"Not", "LogicalNot"},
                                                                    {"Reciprocal", "Reciprocal"},
                                                                    {"IsNaN", "IsNan"},
                                                                    {"Asinh", "Asinh"},
                                                                    {"Acosh", "Acosh"},
                                                                    {"Atanh", "Atanh"},
                                                                    {"BitwiseNot", "Invert"}};
constexpr std::pair<std::string_view, std::string_view> kBinary[] = {{"Add", "AddV2"},
                                                                     {"Sub", "Sub"},
                                                                     {"Mul", "Mul"},
                                                                     {"Equal", "Equal"},
                                                                     {"Less", "Less"},
                                                                     {"LessOrEqual", "LessEqual"},
                                                                     {"Greater", "Greater"},
                                                                     {"GreaterOrEqual", "GreaterEqual"},
                                                                     {"And", "LogicalAnd"},
                                                                     {"Or", "LogicalOr"},
                                                                     {"BitwiseAnd", "BitwiseAnd"},
                                                                     {"BitwiseOr", "BitwiseOr"},
                                                                     {"BitwiseXor", "BitwiseXor"}};

std::string_view NameOf(std::span<const std::pair<std::string_view, std::string_view>> ops,
                        const std::string& op) {
  return std::ranges::find(ops, std::string_view(op), &std::pair<std::string_view, std::string_view>::first)
      ->second;
}

OnnxValues Unary(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  if (node.op().starts_with("Bitwise") && ElementSize(inputs[0].dtype()) < 4) return {};
  return {to.Elementwise(NameOf(kUnary, node.op()), {inputs[0]})};
}

OnnxValues Binary(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  if (node.op().starts_with("Bitwise") && ElementSize(inputs[0].dtype()) < 4) return {};
  return {to.Elementwise(NameOf(kBinary, node.op()), {inputs[0], inputs[1]})};
}

OnnxValues Same(OnnxEmitter&, const OnnxNode& node, const OnnxValues& inputs) {
  if (node.num_outputs() != 1) return {};
  return {inputs[0]};
}

// Integers are cut towards zero.
OnnxValues Divide(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  return {to.Elementwise(IsFloat(inputs[0].dtype()) ? "RealDiv" : "TruncateDiv", {inputs[0], inputs[1]})};
}

OnnxValues Power(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  const std::optional<double> exponent = ConstantNumber(inputs[1]);
  if (exponent == 2.0 && inputs[1].rank() <= x.rank()) return {to.Elementwise("Square", {x})};
  if (exponent == 3.0 && IsFloat(x.dtype()) && inputs[1].rank() <= x.rank())
    return {to.Elementwise("Mul", {to.Elementwise("Square", {x}), x})};
  return {to.Elementwise("Pow", {x, to.Cast(inputs[1], x.dtype())})};
}

OnnxValues Modulo(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  if (node.Int("fmod", 0) != 0 || IsFloat(inputs[0].dtype())) return {};
  return {to.Elementwise("FloorMod", {inputs[0], inputs[1]})};
}

OnnxValues Xor(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  return {to.Elementwise("NotEqual", {inputs[0], inputs[1]})};
}

// Folds any number of tensors by an op of two.
OnnxValues Folded(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const std::string_view op = node.op() == "Max" ? "Maximum" : node.op() == "Min" ? "Minimum" : "AddV2";
  OnnxValue result = inputs[0];
  double count = 1;
  for (size_t i = 1; i < inputs.size() && inputs[i].exists(); ++i, ++count)
    result = to.Elementwise(op, {result, inputs[i]});
  if (node.op() == "Mean") result = to.Elementwise("RealDiv", {result, to.Number(count, result.dtype())});
  return {result};
}

OnnxValues Where(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  return {to.Elementwise("SelectV2", {inputs[0], inputs[1], inputs[2]})};
}

OnnxValues Clip(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  OnnxValue x = inputs[0];
  OnnxValue low = inputs[1], high = inputs[2];
  if (node.opset() < 11) {
    if (node.Has("min")) low = to.Number(node.Float("min", 0), x.dtype());
    if (node.Has("max")) high = to.Number(node.Float("max", 0), x.dtype());
  }
  if (low.exists()) x = to.Elementwise("Maximum", {x, low});
  if (high.exists()) x = to.Elementwise("Minimum", {x, high});
  return {x};
}

OnnxValues CastValue(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const DataType dtype =
      node.op() == "CastLike" ? inputs[1].dtype() : OnnxDataType(static_cast<int>(node.Int("to", 0)));
  if (SmallElementBits(static_cast<int>(node.Int("to", 0))) != 0) return {};
  if (dtype == DataType::kString || inputs[0].dtype() == DataType::kString) return {};
  if (inputs[0].format() != 0) return {CastFromFormat(to, inputs[0], dtype)};
  return {to.Cast(inputs[0], dtype)};
}

}  // namespace

void AddElementRules(OnnxRules* rules) {
  for (const auto& [name, op] : kUnary) rules->emplace(name, Unary);
  for (const auto& [name, op] : kBinary) rules->emplace(name, Binary);
  for (const char* name : {"Identity", "Dropout"}) rules->emplace(name, Same);
  for (const char* name : {"Max", "Min", "Sum", "Mean"}) rules->emplace(name, Folded);
  for (const char* name : {"Cast", "CastLike"}) rules->emplace(name, CastValue);
  rules->emplace("Div", Divide);
  rules->emplace("Pow", Power);
  rules->emplace("Mod", Modulo);
  rules->emplace("Xor", Xor);
  rules->emplace("Where", Where);
  rules->emplace("Clip", Clip);
}

}  // namespace lanescope
