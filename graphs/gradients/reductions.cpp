// SPDX-License-Identifier: Apache-2.0
// Gradients of reductions and of cumulative sums.
#include <algorithm>
#include <numeric>
#include <optional>

#include "graphs/constants.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

std::vector<int64_t> IntegersOf(const Tensor& tensor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) values.push_back(tensor.IntAt(i));
  return values;
}

Tensor Int32Vector(const std::vector<int64_t>& values) {
  return NumbersAs(Input(values).value(), DataType::kInt32);
}

bool IsAllOf(const std::vector<int64_t>& axes, int rank) {
  std::vector<int64_t> all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return axes == all;
}

// One element in `rank` dimensions of 1.
Endpoint AsOneElement(Scope& s, Endpoint x, int rank) {
  const auto names = s.Name("Reshape");
  const std::string full = s.CurrentNames();
  // TensorFlow takes an empty list for one of floats first, and lets that constant lie.
  if (rank == 0) s.UniqueName("shape");
  const std::vector<int64_t> ones(static_cast<size_t>(rank), 1);
  return op::Reshape(s, x, s.Constant(Int32Vector(ones), "shape"), {.name = full});
}

Endpoint SpreadSum(const OpGradient& g) {
  Endpoint grad = g.grad();
  const Endpoint input = g.in(0);
  const lanescope::Shape shape = g.shape(input);
  const Tensor* axes_value = g.value(g.in(1));
  if (shape.known_rank() && axes_value != nullptr) {
    const std::vector<int64_t> axes = IntegersOf(*axes_value);
    if (IsAllOf(axes, shape.rank()) && axes_value->shape().rank() == 1) {
      grad = AsOneElement(g.s, grad, shape.rank());
      const Endpoint multiples =
          shape.IsExact() ? g.s.Constant(DimsTensor(shape, DataType::kInt32)) : ShapeTensor(g.s, input);
      return op::Tile(g.s, grad, multiples);
    }
    if (shape.IsExact()) {
      std::vector<int64_t> kept(shape.dims().begin(), shape.dims().end());
      std::vector<int64_t> scale(kept.size(), 1);
      for (const int64_t axis : axes) {
        const auto i = static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis);
        scale[i] = kept[i];
      }
      for (size_t i = 0; i < kept.size(); ++i) {
        if (scale[i] != 1) kept[i] = 1;
      }
      // A dimension of 0 keeps what it has: 0 / max(1, 1).
      for (const int64_t axis : axes) kept[static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis)] = 1;
      grad = op::Reshape(g.s, grad, Int32Vector(kept));
      return op::Tile(g.s, grad, Int32Vector(scale));
    }
  }
  const Endpoint input_shape = ShapeTensor(g.s, input);
  if (!g.node().BoolAttr("keep_dims", false)) {
    const Input kept = [&] {
      const auto with = g.s.ColocateWith(input_shape);
      return ReducedShape(g.s, input_shape, g.in(1));
    }();
    grad = op::Reshape(g.s, grad, kept);
  }
  return op::BroadcastTo(g.s, grad, input_shape);
}

std::vector<Gradient> SumGradient(const OpGradient& g) { return {SpreadSum(g)}; }

std::vector<Gradient> MeanGradient(const OpGradient& g) {
  const Endpoint sum = SpreadSum(g);
  const DataType type = g.type(sum);
  const lanescope::Shape input = g.shape(g.in(0)), output = g.shape(g.out());
  if (input.IsExact() && output.IsExact()) {
    const int64_t count = input.NumElements() / std::max<int64_t>(output.NumElements(), 1);
    return {Div(g.s, sum, ScalarOf(g.s, static_cast<double>(count), type))};
  }
  const Endpoint shape = ShapeTensor(g.s, g.in(0));
  const Endpoint rank = SizeTensor(g.s, shape);
  const Endpoint axes = FloorMod(g.s, Add(g.s, g.in(1), rank), rank);
  const Endpoint sizes = op::GatherV2(g.s, shape, axes, 0);
  const Endpoint count = op::Prod(g.s, sizes, g.s.Constant(Int32Vector({0})));
  return {Div(g.s, sum, Cast(g.s, count, type))};
}

// Shared by the elements that are largest, or smallest.
std::vector<Gradient> ExtremumGradient(const OpGradient& g) {
  const Endpoint input_shape = ShapeTensor(g.s, g.in(0));
  Endpoint y = g.out(), grad = g.grad();
  const bool keeps = g.node().BoolAttr("keep_dims", false);
  const Input kept = keeps ? Input(ShapeTensor(g.s, y)) : ReducedShape(g.s, input_shape, g.in(1));
  if (!keeps) {
    y = op::Reshape(g.s, y, kept);
    grad = op::Reshape(g.s, grad, kept);
  }
  const Endpoint chosen = Cast(g.s, op::Equal(g.s, y, g.in(0)), g.type(grad));
  const Endpoint count = op::Reshape(g.s, SumOver(g.s, chosen, g.in(1)), kept);
  return {Mul(g.s, Div(g.s, chosen, count), grad)};
}

// The input's shape with the dimensions that are reduced in front; nothing where they are not known.
std::optional<lanescope::Shape> ReducedFirst(const OpGradient& g) {
  const lanescope::Shape& shape = g.shape(g.in(0));
  const Tensor* axes = g.value(g.in(1));
  if (!shape.known_rank() || axes == nullptr) return std::nullopt;
  lanescope::Shape permuted;
  std::vector<bool> reduced(static_cast<size_t>(shape.rank()), false);
  for (const int64_t axis : IntegersOf(*axes)) {
    const auto i = static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
    reduced[static_cast<size_t>(i)] = true;
    permuted.Append(shape[i]);
  }
  for (int i = 0; i < shape.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) permuted.Append(shape[i]);
  }
  return permuted;
}

// The product of all others, without dividing: what comes before times what comes after.
std::vector<Gradient> ProdGradient(const OpGradient& g) {
  const Endpoint x = g.in(0);
  const Endpoint input_shape = ShapeTensor(g.s, x);
  Endpoint axes = op::Reshape(g.s, g.in(1), {-1});
  Endpoint grad = g.grad();
  if (!g.node().BoolAttr("keep_dims", false)) {
    grad = op::Reshape(g.s, grad, ReducedShape(g.s, input_shape, g.in(1)));
  }
  grad = op::BroadcastTo(g.s, grad, input_shape);
  Endpoint perm, reduced_count, other_count;
  {
    const auto host = g.s.Device("/cpu:0");
    const Endpoint rank = RankTensor(g.s, x);
    const Endpoint positive = FloorMod(g.s, Add(g.s, axes, Cast(g.s, rank, g.type(axes))), rank);
    const Endpoint reduced = Cast(g.s, positive, DataType::kInt32);
    const Endpoint all = RangeUpTo(g.s, 0, rank, 1);
    const Endpoint other = op::ListDiff(g.s, all, reduced).out;
    perm = op::ConcatV2(g.s, {reduced, other}, 0, {.name = "concat"});
    const Tensor zero = Int32Vector({0});
    reduced_count = op::Prod(g.s, op::GatherV2(g.s, input_shape, reduced, 0), g.s.Constant(zero));
    other_count = op::Prod(g.s, op::GatherV2(g.s, input_shape, other, 0), g.s.Constant(zero));
  }
  const Endpoint permuted = op::Transpose(g.s, x, perm, {.name = "transpose"});
  if (const auto shape = ReducedFirst(g)) g.s.MergeShape(permuted, *shape);
  const Endpoint permuted_shape = ShapeTensor(g.s, permuted);
  const Endpoint flat = [&] {
    const auto names = g.s.Name("Reshape");
    const std::string full = g.s.CurrentNames();
    const Endpoint flat_shape = op::Pack(g.s, {reduced_count, other_count}, {.name = "shape"});
    return op::Reshape(g.s, permuted, flat_shape, {.name = full});
  }();
  const Endpoint left = op::Cumprod(g.s, flat, 0, {.exclusive = true});
  const Endpoint right = op::Cumprod(g.s, flat, 0, {.exclusive = true, .reverse = true});
  const Endpoint others = op::Reshape(g.s, Mul(g.s, left, right), permuted_shape);
  const Endpoint back = op::InvertPermutation(g.s, perm);
  const Endpoint out = Mul(g.s, grad, op::Transpose(g.s, others, back, {.name = "transpose"}));
  return {op::Reshape(g.s, out, input_shape)};
}

std::vector<Gradient> EuclideanNormGradient(const OpGradient& g) {
  Endpoint output = g.out(), grad = g.grad();
  if (!g.node().BoolAttr("keep_dims", false)) {
    const Input kept = ReducedShape(g.s, ShapeTensor(g.s, g.in(0)), g.in(1));
    output = op::Reshape(g.s, output, kept);
    grad = op::Reshape(g.s, grad, kept);
  }
  return {Div(g.s, g.in(0), Div(g.s, output, grad))};
}

std::vector<Gradient> L2LossGradient(const OpGradient& g) { return {Mul(g.s, g.in(0), g.grad())}; }

std::vector<Gradient> CumsumGradient(const OpGradient& g) {
  return {op::Cumsum(
      g.s, g.grad(), g.in(1),
      {.exclusive = g.node().BoolAttr("exclusive", false), .reverse = !g.node().BoolAttr("reverse", false)})};
}

std::vector<Gradient> CumprodGradient(const OpGradient& g) {
  const bool exclusive = g.node().BoolAttr("exclusive", false);
  const bool reverse = g.node().BoolAttr("reverse", false);
  const Endpoint product = op::Cumprod(g.s, g.in(0), g.in(1), {.exclusive = exclusive, .reverse = reverse});
  const Endpoint sum =
      op::Cumsum(g.s, Mul(g.s, product, g.grad()), g.in(1), {.exclusive = exclusive, .reverse = !reverse});
  return {op::DivNoNan(g.s, sum, g.in(0), {.name = "div_no_nan"})};
}

std::vector<Gradient> TopKGradient(const OpGradient& g) {
  const Endpoint in_shape = ShapeTensor(g.s, g.in(0));
  const Endpoint index_shape = ShapeTensor(g.s, g.out(1));
  const auto last_dim = [&g](Endpoint shape) {
    const Endpoint wide = Cast(g.s, shape, DataType::kInt64);
    const Endpoint last = Sub(g.s, SizeTensor(g.s, shape), 1);
    return op::GatherV2(g.s, wide, last, 0);
  };
  const Endpoint index_last = last_dim(index_shape);
  const Endpoint rows_shape = op::Pack(g.s, {Input(-1), index_last}, {.name = "stack"});
  const Endpoint rows = op::Reshape(g.s, g.out(1), rows_shape);
  const Endpoint in_last = last_dim(in_shape);
  const Endpoint outer = Element(g.s, ShapeTensor(g.s, rows), 0);
  const Endpoint limit = Mul(g.s, Cast(g.s, outer, DataType::kInt64), in_last);
  const Endpoint starts = RangeUpTo(g.s, 0, limit, in_last);
  const Endpoint offsets = Cast(g.s, op::ExpandDims(g.s, starts, -1), DataType::kInt32);
  const Endpoint flat = op::Reshape(g.s, Add(g.s, rows, offsets), {-1});
  const Endpoint places = op::ExpandDims(g.s, flat, -1);
  const Endpoint values = op::Reshape(g.s, g.grad(0), {-1});
  const Endpoint size = op::Prod(g.s, in_shape, g.s.Constant(Int32Vector({0})));
  const Endpoint size_vector = op::Pack(g.s, {size}, {.name = "ScatterNd/shape"});
  const Endpoint grad = op::Reshape(g.s, op::ScatterNd(g.s, places, values, size_vector), in_shape);
  return {grad, ScalarOf(g.s, 0, DataType::kInt32, "zeros")};
}

}  // namespace

void AddReductionGradients(GradientTable& table) {
  table.Add("Sum", SumGradient);
  table.Add("Mean", MeanGradient);
  table.Add("Max", ExtremumGradient);
  table.Add("Min", ExtremumGradient);
  table.Add("Prod", ProdGradient);
  table.Add("EuclideanNorm", EuclideanNormGradient);
  table.Add("L2Loss", L2LossGradient);
  table.Add("Cumsum", CumsumGradient);
  table.Add("Cumprod", CumprodGradient);
  table.Add("TopK", TopKGradient);
  table.Add("TopKV2", TopKGradient);
}

}  // namespace lanescope::graphs
