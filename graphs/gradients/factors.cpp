// SPDX-License-Identifier: Apache-2.0
// Gradients of matrices' factors and of equations with triangular matrices.
#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

// Products and transposes of matrices as TensorFlow's Python functions write them: MatMul of two matrices,
// BatchMatMulV2 of batches of them.
class MatrixWriter {
 public:
  MatrixWriter(Scope& s, int rank) : s_(s), rank_(rank) {}

  Endpoint Product(Endpoint x, Endpoint y, bool turn_x = false, bool turn_y = false) {
    if (rank_ > 2) return op::BatchMatMulV2(s_, x, y, {.name = "MatMul", .adj_x = turn_x, .adj_y = turn_y});
    return op::MatMul(s_, x, y, {.transpose_a = turn_x, .transpose_b = turn_y});
  }
  Endpoint Adjoint(Endpoint x) {
    const auto names = s_.Name("adjoint");
    const auto more = s_.Name("matrix_transpose");
    if (rank_ == 2) return op::Transpose(s_, x, {1, 0}, {.name = "transpose"});
    std::vector<int32_t> order;
    for (int i = 0; i + 2 < rank_; ++i) order.push_back(i);
    order.push_back(rank_ - 1);
    order.push_back(rank_ - 2);
    return op::Transpose(s_, x, order, {.name = "transpose"});
  }
  // x times the inverse of r', for a triangular r.
  Endpoint TimesInverse(Endpoint x, Endpoint r) {
    const Endpoint turned = Adjoint(x);
    return Adjoint(Solve(r, turned, false, false));
  }
  Endpoint Solve(Endpoint matrix, Endpoint rhs, bool lower, bool turned) {
    const auto names = s_.Name("triangular_solve");
    return op::MatrixTriangularSolve(s_, matrix, rhs, {.lower = lower, .adjoint = turned});
  }

 private:
  Scope& s_;
  int rank_;
};

// Keeps what is not above the diagonal, or not below it.
Endpoint Band(Scope& s, Endpoint x, bool lower) {
  const Tensor all = Tensor::Scalar<int32_t>(-1), none = Tensor::Scalar<int32_t>(0);
  return lower ? op::MatrixBandPart(s, x, all, none) : op::MatrixBandPart(s, x, none, all);
}

// For matrices with at least as many rows as columns (Roberts and Roberts, "QR and LQ decomposition matrix
// backpropagation algorithms", 2020).
Endpoint TallQrGradient(Scope& s, MatrixWriter& m, Endpoint q, Endpoint r, Endpoint dq, Endpoint dr) {
  const Endpoint qdq = m.Product(q, dq, true);
  const Endpoint qdq_odd = Sub(s, qdq, m.Adjoint(qdq));
  const Endpoint rdr = m.Product(r, dr, false, true);
  const Endpoint rdr_odd = Sub(s, rdr, m.Adjoint(rdr));
  const Endpoint below = Band(s, Add(s, qdq_odd, rdr_odd), true);
  const Endpoint grad_a = m.Product(q, Add(s, dr, m.TimesInverse(below, r)));
  const Endpoint grad_b = m.TimesInverse(Sub(s, dq, m.Product(q, qdq)), r);
  return Add(s, grad_a, grad_b);
}

// x[..., :, from:to] of every matrix; 0: from the first, to the last.
Endpoint Columns(Scope& s, Endpoint x, int32_t from, int32_t to) {
  const auto names = s.Name("strided_slice");
  const std::string full = s.CurrentNames();
  const auto constant = [&s](int32_t a, int32_t b, int32_t c, const char* name) {
    return s.Constant(Tensor::FromValues<int32_t>(lanescope::Shape{3}, {a, b, c}), name);
  };
  const Endpoint begin = constant(0, 0, from, "stack");
  const Endpoint end = constant(0, 0, to, "stack_1");
  const Endpoint strides = constant(1, 1, 1, "stack_2");
  return op::StridedSlice(
      s, x, begin, end, strides,
      {.name = full, .begin_mask = from == 0 ? 6 : 2, .end_mask = to == 0 ? 6 : 2, .ellipsis_mask = 1});
}

std::vector<Gradient> QrGradient(const OpGradient& g) {
  const lanescope::Shape q_shape = g.shape(g.out(0)), r_shape = g.shape(g.out(1));
  if (!q_shape.IsExact() || !r_shape.IsExact()) {
    Throw(Code::kUnimplemented, "'{}': QrGrad not implemented with dynamic shapes.", g.node().name);
  }
  const int rank = r_shape.rank();
  const Dim rows = q_shape[rank - 2], columns = r_shape[rank - 1];
  if (r_shape[rank - 2] > columns && q_shape[rank - 2] == q_shape[rank - 1]) {
    Throw(Code::kUnimplemented, "'{}': QrGrad not implemented when nrows > ncols and full_matrices is true.",
          g.node().name);
  }
  Scope& s = g.s;
  MatrixWriter m(s, rank);
  const Endpoint q = g.out(0), r = g.out(1), dq = g.grad(0), dr = g.grad(1);
  if (rows >= columns) return {TallQrGradient(s, m, q, r, dq, dr)};
  // a = [x, y] with square x, and r = [u, v] likewise: x = q u and y = q v.
  const auto square = static_cast<int32_t>(rows);
  const Endpoint y = Columns(s, g.in(0), square, 0);
  const Endpoint u = Columns(s, r, 0, square);
  const Endpoint dv = Columns(s, dr, square, 0);
  const Endpoint du = Columns(s, dr, 0, square);
  const Endpoint dy = m.Product(q, dv);
  const Endpoint dx = TallQrGradient(s, m, q, u, Add(s, dq, m.Product(y, dv, false, true)), du);
  return {op::ConcatV2(s, {dx, dy}, -1, {.name = "concat"})};
}

std::vector<Gradient> TriangularSolveGradient(const OpGradient& g) {
  Scope& s = g.s;
  const bool lower = g.node().BoolAttr("lower", true), turned = g.node().BoolAttr("adjoint", false);
  const Endpoint a = g.in(0), b = g.in(1), x = g.out();
  const lanescope::Shape a_shape = g.shape(a), b_shape = g.shape(b);
  if (!a_shape.known_rank() || !b_shape.known_rank())
    Throw(Code::kUnimplemented, "'{}': the gradient of a solution of unknown rank", g.node().name);
  MatrixWriter m(s, std::max(a_shape.rank(), b_shape.rank()));
  const Endpoint grad_b = m.Solve(a, g.grad(), lower, !turned);
  const Endpoint product = turned ? m.Product(x, grad_b, false, true) : m.Product(grad_b, x, false, true);
  const Endpoint negative = Neg(s, product);
  const Endpoint grad_a = Band(s, negative, lower);
  const auto batch = [](const lanescope::Shape& shape) {
    return lanescope::Shape(shape.dims().first(shape.dims().size() - 2));
  };
  if (a_shape.IsExact() && b_shape.IsExact() && batch(a_shape) == batch(b_shape)) return {grad_a, grad_b};
  const Endpoint of_a = ShapeTensor(s, a);
  const Endpoint of_b = ShapeTensor(s, b);
  const Endpoint a_batch = Range(s, of_a, 0, -2);
  const auto axes = op::BroadcastGradientArgs(s, a_batch, Range(s, of_b, 0, -2));
  const Endpoint sum_a = op::Reshape(s, SumOver(s, grad_a, axes.r0), of_a);
  return {sum_a, op::Reshape(s, SumOver(s, grad_b, axes.r1), of_b)};
}

}  // namespace

void AddFactorGradients(GradientTable& table) {
  table.Add("Qr", QrGradient);
  table.Add("MatrixTriangularSolve", TriangularSolveGradient);
}

}  // namespace lanescope::graphs
