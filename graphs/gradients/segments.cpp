// SPDX-License-Identifier: Apache-2.0
// Gradients of segment reductions.
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

Endpoint Rows(Scope& s, Endpoint params, Endpoint ids) { return op::GatherV2(s, params, ids, 0); }

std::vector<Gradient> SegmentSumGradient(const OpGradient& g) { return {Rows(g.s, g.grad(), g.in(1))}; }

std::vector<Gradient> SegmentMeanGradient(const OpGradient& g) {
  const Endpoint rank = RankTensor(g.s, g.in(0));
  const Endpoint ids_shape = ShapeTensor(g.s, g.in(1));
  const Endpoint rest = op::ExpandDims(g.s, Sub(g.s, rank, 1), 0);
  const Endpoint ones_shape =
      op::ConcatV2(g.s, {ids_shape, OnesOf(g.s, rest, DataType::kInt32)}, 0, {.name = "concat"});
  const Endpoint ones = OnesOf(g.s, ones_shape, g.type(g.grad()));
  const Endpoint scaled = Div(g.s, g.grad(), op::SegmentSum(g.s, ones, g.in(1)));
  return {Rows(g.s, scaled, g.in(1))};
}

std::vector<Gradient> SegmentExtremumGradient(const OpGradient& g) {
  const Endpoint zeros = ZerosLike(g.s, g.in(0));
  const Endpoint gathered = Rows(g.s, g.out(), g.in(1));
  const Endpoint chosen = op::Equal(g.s, g.in(0), gathered);
  const Endpoint count = op::SegmentSum(g.s, Cast(g.s, chosen, g.type(g.grad())), g.in(1));
  const Endpoint shares = Rows(g.s, Div(g.s, g.grad(), count), g.in(1));
  return {op::SelectV2(g.s, chosen, shares, zeros)};
}

// Segments without zeros divide by the element, those with one give the product of the others to it alone,
// and those with more give nothing.
std::vector<Gradient> SegmentProdGradient(const OpGradient& g) {
  Scope& s = g.s;
  const Endpoint data = g.in(0), ids = g.in(1);
  const Endpoint is_zero = op::Equal(s, data, 0);
  const Endpoint zeros = op::SegmentSum(s, Cast(s, is_zero, DataType::kInt32), ids);
  const Endpoint several = op::Greater(s, zeros, 1);
  const Endpoint grad = op::SelectV2(s, several, ZerosLike(s, g.grad()), g.grad());
  const Endpoint non_zero = op::SelectV2(s, is_zero, OnesLike(s, data), data);
  const Endpoint product = op::SegmentProd(s, non_zero, ids);
  const Endpoint gathered = Rows(s, g.out(), ids);
  const Endpoint gathered_product = Rows(s, product, ids);
  const Endpoint others = Div(s, gathered, non_zero);
  const Endpoint partial = op::SelectV2(s, is_zero, gathered_product, others);
  return {Mul(s, Rows(s, grad, ids), partial)};
}

// Rows at ids, zeros where an id is negative.
struct DroppedNegatives {
  Endpoint rows, clipped, positive;
};

DroppedNegatives GatherDropNegatives(Scope& s, Endpoint params, Endpoint ids, const Endpoint* clipped_ids,
                                     const Endpoint* is_positive) {
  DroppedNegatives result;
  result.clipped = clipped_ids != nullptr ? *clipped_ids : op::Maximum(s, ids, ZerosLike(s, ids));
  const Endpoint gathered = Rows(s, params, result.clipped);
  if (is_positive != nullptr) {
    result.positive = *is_positive;
  } else {
    const Endpoint mask = op::GreaterEqual(s, ids, 0);
    const Endpoint mask_shape = ShapeTensor(s, mask);
    const Endpoint gathered_rank = RankTensor(s, gathered);
    const Endpoint more = Sub(s, gathered_rank, RankTensor(s, mask));
    const Endpoint ones_shape = op::Pack(s, {more}, {.name = "ones/packed"});
    const Endpoint ones =
        op::Fill(s, ones_shape, ScalarOf(s, 1, DataType::kInt32, "ones/Const"), {.name = "ones"});
    const Endpoint shape = op::ConcatV2(s, {mask_shape, ones}, 0, {.name = "concat"});
    const Endpoint wide = op::Reshape(s, mask, shape);
    const Endpoint yes = OnesLike(s, gathered, DataType::kBool);
    result.positive = op::LogicalAnd(s, wide, yes, {.name = "and"});
  }
  const Endpoint zeros = ZerosLike(s, gathered);
  result.rows = op::SelectV2(s, result.positive, gathered, zeros);
  return result;
}

std::vector<Gradient> UnsortedSegmentSumGradient(const OpGradient& g) {
  return {GatherDropNegatives(g.s, g.grad(), g.in(1), nullptr, nullptr).rows};
}

std::vector<Gradient> UnsortedSegmentExtremumGradient(const OpGradient& g) {
  const DroppedNegatives outputs = GatherDropNegatives(g.s, g.out(), g.in(1), nullptr, nullptr);
  const Endpoint equal = op::Equal(g.s, g.in(0), outputs.rows);
  const Endpoint chosen = op::LogicalAnd(g.s, equal, outputs.positive);
  const Endpoint count = op::UnsortedSegmentSum(g.s, Cast(g.s, chosen, g.type(g.grad())), g.in(1), g.in(2));
  const Endpoint shares = Div(g.s, g.grad(), count);
  const Endpoint rows = GatherDropNegatives(g.s, shares, g.in(1), &outputs.clipped, &outputs.positive).rows;
  return {op::SelectV2(g.s, chosen, rows, ZerosLike(g.s, rows))};
}

std::vector<Gradient> UnsortedSegmentProdGradient(const OpGradient& g) {
  Scope& s = g.s;
  const Endpoint data = g.in(0), ids = g.in(1), number = g.in(2);
  const Endpoint is_zero = op::Equal(s, data, 0);
  const Endpoint zeros = op::UnsortedSegmentSum(s, Cast(s, is_zero, DataType::kInt32), ids, number);
  const Endpoint several = op::Greater(s, zeros, 1);
  const Endpoint grad = op::SelectV2(s, several, ZerosLike(s, g.grad()), g.grad());
  const Endpoint non_zero = op::SelectV2(s, is_zero, OnesLike(s, data), data);
  const Endpoint product = op::UnsortedSegmentProd(s, non_zero, ids, number);
  const Endpoint clipped = op::Maximum(s, ids, ZerosLike(s, ids));
  const Endpoint gathered = Rows(s, g.out(), clipped);
  const Endpoint gathered_product = Rows(s, product, clipped);
  const Endpoint others = Div(s, gathered, data);
  const Endpoint partial = op::SelectV2(s, is_zero, gathered_product, others);
  const Endpoint rows = GatherDropNegatives(s, grad, ids, &clipped, nullptr).rows;
  return {Mul(s, rows, partial)};
}

using SparseGrad = Endpoint (*)(Scope&, const Input&, const Input&, const Input&, const Input&,
                                const op::OpName&);

// `rows_gradient`: of the rows that the indices name alone.
template <SparseGrad gradient, auto rows_gradient>
std::vector<Gradient> SparseSegmentGradient(const OpGradient& g) {
  const Endpoint shape = ShapeTensor(g.s, g.in(0));
  const Endpoint rows = Element(g.s, shape, 0);
  if (!g.node().BoolAttr("sparse_gradient", false))
    return {gradient(g.s, g.grad(), g.in(1), g.in(2), rows, {})};
  const auto named = rows_gradient(g.s, g.grad(), g.in(1), g.in(2), rows, {});
  return {IndexedSlices{named.output, named.sorted_unique_indices, shape}};
}

}  // namespace

void AddSegmentGradients(GradientTable& table) {
  table.Add("SegmentSum", SegmentSumGradient);
  table.Add("SegmentMean", SegmentMeanGradient);
  table.Add("SegmentMin", SegmentExtremumGradient);
  table.Add("SegmentMax", SegmentExtremumGradient);
  table.Add("SegmentProd", SegmentProdGradient);
  table.Add("UnsortedSegmentSum", UnsortedSegmentSumGradient);
  table.Add("UnsortedSegmentMax", UnsortedSegmentExtremumGradient);
  table.Add("UnsortedSegmentMin", UnsortedSegmentExtremumGradient);
  table.Add("UnsortedSegmentProd", UnsortedSegmentProdGradient);
  table.Add("SparseSegmentSum", SparseSegmentGradient<op::SparseSegmentSumGrad, op::SparseSegmentSumGradV2>);
  table.Add("SparseSegmentMean",
            SparseSegmentGradient<op::SparseSegmentMeanGrad, op::SparseSegmentMeanGradV2>);
  table.Add("SparseSegmentSqrtN",
            SparseSegmentGradient<op::SparseSegmentSqrtNGrad, op::SparseSegmentSqrtNGradV2>);
  table.Add("SparseSegmentSumWithNumSegments",
            SparseSegmentGradient<op::SparseSegmentSumGrad, op::SparseSegmentSumGradV2>);
  table.Add("SparseSegmentMeanWithNumSegments",
            SparseSegmentGradient<op::SparseSegmentMeanGrad, op::SparseSegmentMeanGradV2>);
  table.Add("SparseSegmentSqrtNWithNumSegments",
            SparseSegmentGradient<op::SparseSegmentSqrtNGrad, op::SparseSegmentSqrtNGradV2>);
}

}  // namespace lanescope::graphs
