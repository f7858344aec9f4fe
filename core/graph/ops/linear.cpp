// SPDX-License-Identifier: Apache-2.0
// Matrix products, factors, Einsum.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/einsum.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/qr.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {
namespace {

void InferMatMul(InferenceContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  context.SetShape(
      0, MatMulRule(context.node())
             .ResultOf(a.known_rank() ? a : UnknownOfRank(2), b.known_rank() ? b : UnknownOfRank(2)));
}

void InferBatchMatMul(InferenceContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  if (a.known_rank() && b.known_rank()) context.SetShape(0, MatMulRule(context.node()).ResultOf(a, b));
}

// Two operations for each of the inner dimension's products.
OpWork MatMulCost(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  const Shape& a = inputs[0].shape;
  const Dim inner =
      a.known_rank() && a.rank() >= 2 ? a[a.rank() - (MatMulRule(node).turn_a ? 2 : 1)] : kUnknownDim;
  const int64_t depth = HasBound(inner) ? BoundOf(inner) : 0;
  return {SaturatingMul(SaturatingMul(2, depth), CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}

// The factors of the last two dimensions.
void InferQr(InferenceContext& context) {
  const auto [q, r] = QrShapes(context.shape(0), context.node().BoolAttr("full_matrices", false));
  context.SetShape(0, q);
  context.SetShape(1, r);
}

void InferTriangularSolve(InferenceContext& context) {
  context.SetShape(0, TriangularSolveShape(context.shape(0), context.shape(1)));
}

// Half of the matrix is multiplied with every column.
OpWork TriangularSolveCost(const Node&, std::span<const TensorInfo> inputs,
                           std::span<const TensorInfo> outputs) {
  const Shape shape = inputs[0].shape.Bound();
  const int64_t rows = shape.rank() >= 2 && shape.HasBound() ? shape[shape.rank() - 1] : 0;
  return {SaturatingMul(rows, CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}

// Householder reflections take 2 mn^2 - 2/3 n^3 for r, and as much again for q.
OpWork QrCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  const Shape shape = inputs[0].shape.Bound();
  if (shape.NumElements() <= 0 || shape.rank() < 2) return {0, TotalBytes(inputs, outputs)};
  const auto rows = static_cast<double>(shape[shape.rank() - 2]);
  const auto columns = static_cast<double>(shape[shape.rank() - 1]);
  const double n = std::min(rows, columns), m = std::max(rows, columns);
  const double matrices = static_cast<double>(shape.NumElements()) / (rows * columns);
  return {static_cast<int64_t>(matrices * 4 * n * n * (m - n / 3)), TotalBytes(inputs, outputs)};
}

EinsumEquation EquationOf(const Node& node) {
  return ParseEinsum(node.StringAttr("equation"), static_cast<int>(node.IntAttr("N")));
}

void InferEinsum(InferenceContext& context) {
  const EinsumEquation equation = EquationOf(context.node());
  std::vector<Shape> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) shapes.push_back(context.shape(i));
  const std::optional<SizedEinsum> sized = SizeEinsum(equation, shapes);
  if (sized) context.SetShape(0, sized->ShapeOf(sized->equation.output));
}

// A product and a sum for every combination of all letters.
OpWork EinsumCost(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  std::vector<Shape> shapes;
  for (const TensorInfo& input : inputs) shapes.push_back(input.shape);
  int64_t flops = inputs.size() > 1 ? 2 : 1;
  const std::optional<SizedEinsum> sized = SizeEinsum(EquationOf(node), shapes);
  if (!sized) return {0, TotalBytes(inputs, outputs)};
  for (const auto& [label, size] : sized->sizes) {
    flops = SaturatingMul(flops, HasBound(size) ? BoundOf(size) : 0);
  }
  return {flops, TotalBytes(inputs, outputs)};
}

}  // namespace

MatMulRule::MatMulRule(const Node& node)
    : batches(node.op != "MatMul"),
      broadcasts(node.op != "BatchMatMul"),
      turn_a(node.BoolAttr(batches ? "adj_x" : "transpose_a", false)),
      turn_b(node.BoolAttr(batches ? "adj_y" : "transpose_b", false)) {}

Shape MatMulRule::ResultOf(const Shape& a, const Shape& b) const {
  const int ra = a.rank() - 2, rb = b.rank() - 2;
  if (batches ? ra < 0 || rb < 0 : ra != 0 || rb != 0) {
    Throw(Code::kInvalidArgument, "In[0] and In[1] have to be matrices{}, but they have shapes {} and {}",
          batches ? " or batches of them" : "", a.ToString(), b.ToString());
  }
  const Shape batch_a = SubShape(a, 0, ra), batch_b = SubShape(b, 0, rb);
  bool compatible = broadcasts || ra == rb;
  for (int d = 0; !broadcasts && compatible && d < ra; ++d)
    compatible = !IsExact(a[d]) || !IsExact(b[d]) || a[d] == b[d];
  if (!compatible) {
    Throw(Code::kInvalidArgument, "In[0] and In[1] must have compatible batch dimensions: {} vs. {}",
          a.ToString(), b.ToString());
  }
  const Dim inner_a = a[ra + (turn_a ? 0 : 1)], inner_b = b[rb + (turn_b ? 1 : 0)];
  if (IsExact(inner_a) && IsExact(inner_b) && inner_a != inner_b) {
    Throw(Code::kInvalidArgument, "Matrix size-incompatible: In[0]: {}, In[1]: {}", a.ToString(),
          b.ToString());
  }
  Shape result = broadcasts ? BroadcastShapes(batch_a, batch_b) : MergeShapes(batch_a, batch_b);
  result.Append(a[ra + (turn_a ? 1 : 0)]);
  result.Append(b[rb + (turn_b ? 0 : 1)]);
  return result;
}

void RegisterLinearOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("MatMul(a: T, b: T) -> (product: T)",
     "transpose_a: bool = false; transpose_b: bool = false; T: {floating, complex, index, uint8, uint16, "
     "uint32, uint64}")
      .Infer(InferMatMul)
      .Work(MatMulCost);
  op("BatchMatMul(x: T, y: T) -> (output: T)",
     "T: {floating, complex, index}; adj_x: bool = false; adj_y: bool = false")
      .Infer(InferBatchMatMul)
      .Work(MatMulCost);
  op("BatchMatMulV2(x: T, y: T) -> (output: T)",
     "T: {floating, complex, index, uint8, int16, uint16, uint32, uint64}; adj_x: bool = false; adj_y: bool "
     "= false")
      .Infer(InferBatchMatMul)
      .Work(MatMulCost);
  op("BatchMatMulV3(x: Ta, y: Tb) -> (output: Tout)",
     "Ta: {floating, complex, index, uint8, int8, int16}; Tb: {floating, complex, index, uint8, int8, "
     "int16}; "
     "Tout: {floating, complex, index, int16}; adj_x: bool = false; adj_y: bool = false")
      .Infer(InferBatchMatMul)
      .Work(MatMulCost);
  op("Qr(input: T) -> (q: T, r: T)", "full_matrices: bool = false; T: {floating, complex}")
      .Infer(InferQr)
      .Work(QrCost);
  op("MatrixTriangularSolve(matrix: T, rhs: T) -> (output: T)",
     "lower: bool = true; adjoint: bool = false; T: {floating, complex}")
      .Infer(InferTriangularSolve)
      .Work(TriangularSolveCost);
  op("Einsum(inputs: N * T) -> (output: T)", "equation: string; N: int >= 1; T: type")
      .Infer(InferEinsum)
      .Work(EinsumCost);
}

}  // namespace lanescope::ops
