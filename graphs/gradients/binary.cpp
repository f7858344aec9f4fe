// SPDX-License-Identifier: Apache-2.0
// Gradients of element-wise functions of two tensors, whose shapes broadcast, and of selections.
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

std::vector<Gradient> AddGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  if (AllShapesEqual(g.s, g.in(0), g.in(1), grad)) return {grad, grad};
  return Unbroadcast(g.s, g.in(0), g.in(1), grad, grad);
}

std::vector<Gradient> SubGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const Endpoint negative = Neg(g.s, grad);
  if (AllShapesEqual(g.s, g.in(0), g.in(1), grad)) return {grad, negative};
  return Unbroadcast(g.s, g.in(0), g.in(1), grad, negative);
}

std::vector<Gradient> MulGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), y = g.in(1), grad = g.grad();
  const DataType type = g.type(grad);
  if (AllShapesEqual(g.s, x, y, grad) && (type == DataType::kFloat || type == DataType::kInt32)) {
    const Endpoint gx = op::Mul(g.s, grad, y);
    return {gx, op::Mul(g.s, grad, x)};
  }
  const Endpoint gx = op::Mul(g.s, grad, y);
  const Endpoint gy = op::Mul(g.s, x, grad);
  return Unbroadcast(g.s, x, y, gx, gy);
}

std::vector<Gradient> MulNoNanGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), y = g.in(1), grad = g.grad();
  const Endpoint gx = op::MulNoNan(g.s, grad, y);
  const Endpoint gy = op::MulNoNan(g.s, x, grad);
  if (AllShapesEqual(g.s, x, y, grad)) return {gx, gy};
  return Unbroadcast(g.s, x, y, gx, gy);
}

using Quotient = Endpoint (*)(Scope&, const Input&, const Input&);
Endpoint PlainRealDiv(Scope& s, const Input& x, const Input& y) { return op::RealDiv(s, x, y); }
Endpoint NamedDivNoNan(Scope& s, const Input& x, const Input& y) {
  return op::DivNoNan(s, x, y, {.name = "div_no_nan"});
}

template <Quotient divide>
std::vector<Gradient> DivGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), y = g.in(1), grad = g.grad();
  const Endpoint gx = divide(g.s, grad, y);
  const Endpoint once = divide(g.s, Neg(g.s, x), y);
  const Endpoint gy = Mul(g.s, grad, divide(g.s, once, y));
  return Unbroadcast(g.s, x, y, gx, gy);
}

std::vector<Gradient> FloorModGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), y = g.in(1), grad = g.grad();
  const Endpoint floor = op::FloorDiv(g.s, x, y);
  const Endpoint gy = Mul(g.s, grad, Neg(g.s, floor));
  return Unbroadcast(g.s, x, y, grad, gy);
}

std::vector<Gradient> PowGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), y = g.in(1), grad = g.grad();
  const Endpoint scaled = Mul(g.s, grad, y);
  const Endpoint gx = Mul(g.s, scaled, op::Pow(g.s, x, Sub(g.s, y, 1)));
  // No real value to return where x <= 0, so return 0.
  const Endpoint positive = op::Greater(g.s, x, 0);
  const Endpoint safe_x = op::Select(g.s, positive, x, OnesLike(g.s, x));
  const Endpoint log = op::Log(g.s, safe_x);
  const Endpoint log_x = op::Select(g.s, positive, log, ZerosLike(g.s, x));
  const Endpoint gy = Mul(g.s, Mul(g.s, grad, g.out()), log_x);
  return Unbroadcast(g.s, x, y, gx, gy);
}

using Comparison = Endpoint (*)(Scope&, const Input&, const Input&, const op::OpName&);

template <Comparison first_wins>
std::vector<Gradient> ExtremeGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), y = g.in(1), grad = g.grad();
  const Endpoint zeros = ZerosLike(g.s, grad);
  const Endpoint mask = first_wins(g.s, x, y, {});
  const Endpoint gx = op::SelectV2(g.s, mask, grad, zeros);
  const Endpoint gy = op::SelectV2(g.s, mask, zeros, grad);
  return Unbroadcast(g.s, x, y, gx, gy);
}

std::vector<Gradient> SquaredDifferenceGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), y = g.in(1), grad = g.grad();
  const Endpoint gx = [&] {
    const auto after = g.s.ControlDependencies({grad});
    const Endpoint two = ScalarOf(g.s, 2, g.type(grad), "scalar");
    const Endpoint twice = op::Mul(g.s, two, grad);
    return Mul(g.s, twice, Sub(g.s, x, y));
  }();
  const Endpoint gy = Neg(g.s, gx);
  if (AllShapesEqual(g.s, x, y, grad)) return {gx, gy};
  return Unbroadcast(g.s, x, y, gx, gy);
}

std::vector<Gradient> Atan2Gradient(const OpGradient& g) {
  const Endpoint y = g.in(0), x = g.in(1), grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint y_square = op::Square(g.s, y);
  const Endpoint inverse = Div(g.s, grad, Add(g.s, y_square, op::Square(g.s, x)));
  const Endpoint gy = Mul(g.s, x, inverse);
  const Endpoint gx = Mul(g.s, Neg(g.s, y), inverse);
  return Unbroadcast(g.s, y, x, gy, gx);
}

// Helps the products with a logarithm and the quotient: partial derivatives while the gradient waits,
// each summed over what was broadcast.
template <typename Partials>
std::vector<Gradient> NanSafeGradient(const OpGradient& g, Partials partials) {
  const Endpoint x = g.in(0), y = g.in(1), grad = g.grad();
  const Endpoint x_shape = ShapeTensor(g.s, x);
  const Endpoint y_shape = ShapeTensor(g.s, y);
  const auto axes = op::BroadcastGradientArgs(g.s, x_shape, y_shape);
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint zero = Cast(g.s, ScalarOf(g.s, 0, DataType::kFloat, "Cast/x"), g.type(x));
  const Endpoint not_zero = Cast(g.s, op::NotEqual(g.s, x, zero), g.type(x));
  const auto [partial_x, partial_y] = partials(not_zero, x, y);
  const Endpoint gx = op::Reshape(g.s, SumOver(g.s, Mul(g.s, partial_x, grad), axes.r0), x_shape);
  return {gx, op::Reshape(g.s, SumOver(g.s, Mul(g.s, partial_y, grad), axes.r1), y_shape)};
}

using Partials = std::pair<Endpoint, Endpoint>;

std::vector<Gradient> XlogyGradient(const OpGradient& g) {
  return NanSafeGradient(g, [&g](Endpoint not_zero, Endpoint x, Endpoint y) -> Partials {
    const Endpoint partial_x = op::Xlogy(g.s, not_zero, y);
    return {partial_x, op::Xdivy(g.s, x, y)};
  });
}

std::vector<Gradient> Xlog1pyGradient(const OpGradient& g) {
  return NanSafeGradient(g, [&g](Endpoint not_zero, Endpoint x, Endpoint y) -> Partials {
    const Endpoint partial_x = op::Xlog1py(g.s, not_zero, y);
    return {partial_x, op::Xdivy(g.s, x, Add(g.s, y, 1.0))};
  });
}

std::vector<Gradient> XdivyGradient(const OpGradient& g) {
  return NanSafeGradient(g, [&g](Endpoint not_zero, Endpoint x, Endpoint y) -> Partials {
    const Endpoint partial_x = op::Xdivy(g.s, not_zero, y);
    const Endpoint negative = Neg(g.s, x);
    return {partial_x, op::Xdivy(g.s, negative, op::Pow(g.s, y, 2, {.name = "pow"}))};
  });
}

// By the second input alone: of the function of both that `partial` writes.
template <typename Partial>
std::vector<Gradient> SecondInputGradient(const OpGradient& g, const Partial& partial) {
  const Endpoint first = g.in(0), second = g.in(1), grad = g.grad();
  const Endpoint first_shape = ShapeTensor(g.s, first);
  const Endpoint second_shape = ShapeTensor(g.s, second);
  const auto axes = op::BroadcastGradientArgs(g.s, first_shape, second_shape);
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint product = Mul(g.s, partial(first, second), grad);
  return {Gradient(), op::Reshape(g.s, SumOver(g.s, product, axes.r1), second_shape)};
}

std::vector<Gradient> PolygammaGradient(const OpGradient& g) {
  return SecondInputGradient(
      g, [&g](Endpoint n, Endpoint x) { return op::Polygamma(g.s, Add(g.s, n, 1.0), x); });
}

std::vector<Gradient> ZetaGradient(const OpGradient& g) {
  return SecondInputGradient(g, [&g](Endpoint x, Endpoint q) {
    const Endpoint negative = Neg(g.s, x);
    return Mul(g.s, negative, op::Zeta(g.s, Add(g.s, x, 1.0), q));
  });
}

std::vector<Gradient> AddNGradient(const OpGradient& g) {
  return std::vector<Gradient>(static_cast<size_t>(g.num_inputs()), g.raw_grad());
}

std::vector<Gradient> ClipByValueGradient(const OpGradient& g) {
  Scope& s = g.s;
  const Endpoint x = g.in(0), low = g.in(1), high = g.in(2), grad = g.grad();
  const Endpoint x_shape = ShapeTensor(s, x);
  const Endpoint low_shape = ShapeTensor(s, low);
  const Endpoint high_shape = ShapeTensor(s, high);
  const Endpoint grad_shape = ShapeTensor(s, grad);
  const Endpoint zeros = [&] {
    const auto names = s.Name("zeros");
    const std::string full = s.CurrentNames();
    return op::Fill(s, grad_shape, ScalarOf(s, 0, g.type(grad)), {.name = full});
  }();
  const Endpoint below = op::Less(s, x, low);
  const Endpoint above = op::Greater(s, x, high);
  const auto low_axes = op::BroadcastGradientArgs(s, x_shape, low_shape);
  const auto high_axes = op::BroadcastGradientArgs(s, x_shape, high_shape);
  const Endpoint of_x = op::Select(s, op::LogicalOr(s, below, above), zeros, grad);
  const Endpoint of_low = op::Select(s, below, grad, zeros);
  const Endpoint of_high = op::Select(s, above, grad, zeros);
  const Endpoint low_sum = op::Reshape(s, SumOver(s, of_low, low_axes.r1), low_shape);
  return {of_x, low_sum, op::Reshape(s, SumOver(s, of_high, high_axes.r1), high_shape)};
}

std::vector<Gradient> SelectGradient(const OpGradient& g) {
  const Endpoint condition = g.in(0), grad = g.grad();
  const Endpoint zeros = ZerosLike(g.s, g.in(1));
  const Endpoint chosen = op::Select(g.s, condition, grad, zeros);
  return {Gradient(), chosen, op::Select(g.s, condition, zeros, grad)};
}

std::vector<Gradient> SelectV2Gradient(const OpGradient& g) {
  const Endpoint condition = g.in(0), grad = g.grad();
  const Endpoint zeros = ScalarOf(g.s, 0, g.type(grad), "zeros");
  const Endpoint chosen = op::SelectV2(g.s, condition, grad, zeros);
  const Endpoint other = op::SelectV2(g.s, condition, zeros, grad);
  const Gradient gx = Unbroadcast(g.s, g.in(1), g.out(), chosen, Gradient())[0];
  const Gradient gy = Unbroadcast(g.s, g.in(2), g.out(), other, Gradient())[0];
  return {Gradient(), gx, gy};
}

}  // namespace

void AddBinaryGradients(GradientTable& table) {
  table.Add("Add", AddGradient);
  table.Add("AddV2", AddGradient);
  table.Add("Sub", SubGradient);
  table.Add("Mul", MulGradient);
  table.Add("MulNoNan", MulNoNanGradient);
  table.Add("Div", DivGradient<Div>);
  table.Add("RealDiv", DivGradient<PlainRealDiv>);
  table.Add("DivNoNan", DivGradient<NamedDivNoNan>);
  table.Add("FloorMod", FloorModGradient);
  table.Add("Pow", PowGradient);
  table.Add("Maximum", ExtremeGradient<op::GreaterEqual>);
  table.Add("Minimum", ExtremeGradient<op::LessEqual>);
  table.Add("SquaredDifference", SquaredDifferenceGradient);
  table.Add("Atan2", Atan2Gradient);
  table.Add("Xlogy", XlogyGradient);
  table.Add("Xlog1py", Xlog1pyGradient);
  table.Add("Xdivy", XdivyGradient);
  table.Add("Polygamma", PolygammaGradient);
  table.Add("Zeta", ZetaGradient);
  table.Add("AddN", AddNGradient);
  table.Add("AccumulateNV2", AddNGradient);
  table.Add("ClipByValue", ClipByValueGradient);
  table.Add("Select", SelectGradient);
  table.Add("SelectV2", SelectV2Gradient);
}

}  // namespace lanescope::graphs
