// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

// The shape with its last axis, or the last but one, replaced; vectors as matrices of one row or column.
OnnxValues MatMul(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  OnnxValue a = inputs[0], b = inputs[1];
  if (!a.known_rank() || !b.known_rank() || a.rank() == 0 || b.rank() == 0) return {};
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = to.Reshaped(a, {1, -1});
  if (column) b = to.Reshaped(b, {-1, 1});
  OnnxValue product;
  if (a.rank() == 2 && b.rank() == 2) {
    product = to.Node("MatMul", {a, b});
  } else if (b.rank() == 2 && a.shape().IsExact() && b.shape().IsExact()) {
    // All rows of the batch at once, by one product.
    const Shape shape = a.shape();
    std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
    const OnnxValue rows = to.Reshaped(a, {-1, sizes.back()});
    sizes.back() = b.shape().dim(1);
    product = to.Reshaped(to.Node("MatMul", {rows, b}), sizes);
  } else {
    product = to.Node("BatchMatMulV2", {a, b});
  }
  if (!row && !column) return {product};
  std::vector<int64_t> gone;
  if (row) gone.push_back(-2);
  if (column) gone.push_back(-1);
  return {to.Node("Squeeze", {product}, {{"squeeze_dims", gone}})};
}

// alpha * A * B + beta * C.
OnnxValues Gemm(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const DataType dtype = inputs[0].dtype();
  OnnxValue b = inputs[1];
  bool transpose_b = node.Int("transB", 0) != 0;
  OnnxValue product = to.Node("MatMul", {inputs[0], b},
                              {{"transpose_a", node.Int("transA", 0) != 0}, {"transpose_b", transpose_b}});
  if (const float alpha = node.Float("alpha", 1); alpha != 1)
    product = to.Node("Mul", {product, to.Number(alpha, dtype)});
  if (!inputs[2].exists() || node.Float("beta", 1) == 0) return {product};
  OnnxValue c = inputs[2];
  if (const float beta = node.Float("beta", 1); beta != 1) c = to.Node("Mul", {c, to.Number(beta, dtype)});
  const bool bias = c.rank() == 1 && product.rank() == 2 && c.shape().dim(0) == product.shape().dim(1);
  return {to.Node(bias ? "BiasAdd" : "AddV2", {product, c})};
}

OnnxValues Einsum(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  std::string equation = node.Text("equation", "");
  std::erase(equation, ' ');
  OnnxValues operands;
  for (const OnnxValue& input : inputs)
    if (input.exists()) operands.push_back(input);
  if (operands.empty() || operands.size() > 2 || equation.find("->") == std::string::npos) return {};
  return {to.Node("Einsum", operands, {{"equation", equation}})};
}

}  // namespace

void AddLinearRules(OnnxRules* rules) {
  rules->emplace("MatMul", MatMul);
  rules->emplace("Gemm", Gemm);
  rules->emplace("Einsum", Einsum);
}

}  // namespace lanescope
