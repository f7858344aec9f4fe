// SPDX-License-Identifier: Apache-2.0
// Gradients of element-wise functions of one tensor. Where the derivative wants more than the gradient, its
// nodes wait for the gradient, so that they are not there before they are needed.
#include <cmath>
#include <numbers>

#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

std::vector<Gradient> AbsGradient(const OpGradient& g) {
  return {Mul(g.s, g.grad(), op::Sign(g.s, g.in(0)))};
}

std::vector<Gradient> NegGradient(const OpGradient& g) { return {Neg(g.s, g.grad())}; }

std::vector<Gradient> SameGradient(const OpGradient& g) { return {g.raw_grad()}; }

std::vector<Gradient> SignGradient(const OpGradient& g) { return {ZerosLike(g.s, g.in(0))}; }

std::vector<Gradient> ReciprocalGradient(const OpGradient& g) {
  return {op::ReciprocalGrad(g.s, g.out(), g.grad())};
}

std::vector<Gradient> SquareGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint two = ScalarOf(g.s, 2, g.type(grad));
  return {op::Mul(g.s, grad, op::Mul(g.s, g.in(0), two))};
}

std::vector<Gradient> SqrtGradient(const OpGradient& g) { return {op::SqrtGrad(g.s, g.out(), g.grad())}; }

std::vector<Gradient> RsqrtGradient(const OpGradient& g) { return {op::RsqrtGrad(g.s, g.out(), g.grad())}; }

std::vector<Gradient> ExpGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  return {Mul(g.s, grad, g.out())};
}

// grad * f(x).
template <Endpoint (*f)(Scope&, const Input&, const op::OpName&)>
std::vector<Gradient> TimesFunction(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  return {Mul(g.s, grad, f(g.s, g.in(0), {}))};
}

std::vector<Gradient> Log1pGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  return {Mul(g.s, grad, op::Reciprocal(g.s, Add(g.s, 1, g.in(0))))};
}

std::vector<Gradient> CosGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint negative = Neg(g.s, grad);
  return {Mul(g.s, negative, op::Sin(g.s, g.in(0)))};
}

std::vector<Gradient> TanGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint secant = op::Reciprocal(g.s, op::Cos(g.s, g.in(0)));
  return {Mul(g.s, op::Square(g.s, secant), grad)};
}

// grad / f(y).
template <Endpoint (*f)(Scope&, const Input&, const op::OpName&)>
std::vector<Gradient> OverFunctionOfResult(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  return {Div(g.s, grad, f(g.s, g.out(), {}))};
}

enum class Sign { kPlus, kMinus };

// 1 / sqrt(1 - x^2), as it is or negative.
template <Sign sign>
std::vector<Gradient> ArcGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint square = op::Square(g.s, g.in(0));
  const Endpoint one = ScalarOf(g.s, 1, g.type(grad));
  const Endpoint root = op::Sqrt(g.s, op::Sub(g.s, one, square));
  const Endpoint inverse = op::Reciprocal(g.s, root);
  return {Mul(g.s, sign == Sign::kMinus ? Neg(g.s, grad) : grad, inverse)};
}

// 1 / (1 + x^2), or 1 / (1 - x^2).
template <Sign sign>
std::vector<Gradient> ArcTangentGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint square = op::Square(g.s, g.in(0));
  const Endpoint one = ScalarOf(g.s, 1, g.type(grad));
  const Endpoint sum =
      sign == Sign::kPlus ? op::AddV2(g.s, one, square, {.name = "Add"}) : op::Sub(g.s, one, square);
  return {Mul(g.s, grad, op::Reciprocal(g.s, sum))};
}

std::vector<Gradient> TanhGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  return {op::TanhGrad(g.s, g.out(), grad)};
}

std::vector<Gradient> SigmoidGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  return {op::SigmoidGrad(g.s, g.out(), grad)};
}

// grad * factor * exp(-x^2).
std::vector<Gradient> BellGradient(const OpGradient& g, double factor) {
  const Endpoint grad = g.grad();
  const Endpoint constant = ScalarOf(g.s, factor, g.type(grad));
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint scaled = Mul(g.s, grad, constant);
  return {Mul(g.s, scaled, op::Exp(g.s, Neg(g.s, op::Square(g.s, g.in(0)))))};
}

std::vector<Gradient> ErfGradient(const OpGradient& g) {
  return BellGradient(g, 2 * std::numbers::inv_sqrtpi);
}

std::vector<Gradient> ErfcGradient(const OpGradient& g) {
  return BellGradient(g, -2 * std::numbers::inv_sqrtpi);
}

std::vector<Gradient> ErfinvGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const Endpoint constant = ScalarOf(g.s, std::sqrt(std::numbers::pi) / 2, g.type(grad));
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint scaled = Mul(g.s, grad, constant);
  return {Mul(g.s, scaled, op::Exp(g.s, op::Square(g.s, g.out())))};
}

std::vector<Gradient> NdtriGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const Endpoint constant = ScalarOf(g.s, std::sqrt(2 * std::numbers::pi), g.type(grad));
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint scaled = Mul(g.s, grad, constant);
  return {Mul(g.s, scaled, op::Exp(g.s, Div(g.s, op::Square(g.s, g.out()), 2.0)))};
}

std::vector<Gradient> DigammaGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint partial = op::Polygamma(g.s, ScalarOf(g.s, 1, g.type(x)), x);
  return {Mul(g.s, grad, partial)};
}

// The message is quoted as Python quotes bytes.
std::vector<Gradient> CheckNumericsV2Gradient(const OpGradient& g) {
  return {op::CheckNumericsV2(g.s, g.grad(),
                              "Not a number (NaN) or infinity (Inf) values detected in gradient. b'" +
                                  g.node().StringAttr("message") + "'")};
}

std::vector<Gradient> CastGradient(const OpGradient& g) {
  const auto is_floating = [](DataType type) {
    return type == DataType::kFloat || type == DataType::kDouble || type == DataType::kHalf ||
           type == DataType::kBfloat16;
  };
  const DataType from = g.type(g.in(0));
  const Endpoint grad = g.grad();
  if (!is_floating(from) || !is_floating(g.type(grad))) return {};
  return {Cast(g.s, grad, from)};
}

std::vector<Gradient> PreventGradient(const OpGradient& g) {
  Throw(Code::kFailedPrecondition, "Gradient explicitly disabled at '{}'. Reason: {}", g.node().name,
        g.node().StringAttr("message", ""));
}

std::vector<Gradient> CheckNumericsGradient(const OpGradient& g) {
  return {op::CheckNumerics(
      g.s, g.grad(),
      "Not a number (NaN) or infinity (Inf) values detected in gradient. " + g.node().StringAttr("message"))};
}

std::vector<Gradient> IdentityNGradient(const OpGradient& g) {
  std::vector<Gradient> grads;
  for (int i = 0; i < g.num_grads(); ++i) grads.push_back(g.raw_grad(i));
  return grads;
}

}  // namespace

void AddUnaryGradients(GradientTable& table) {
  table.Add("Abs", AbsGradient);
  table.Add("Neg", NegGradient);
  table.Add("Sign", SignGradient);
  table.Add("Inv", ReciprocalGradient);
  table.Add("Reciprocal", ReciprocalGradient);
  table.Add("Square", SquareGradient);
  table.Add("Sqrt", SqrtGradient);
  table.Add("Rsqrt", RsqrtGradient);
  table.Add("Exp", ExpGradient);
  table.Add("Expm1", TimesFunction<op::Exp>);
  table.Add("Log", TimesFunction<op::Reciprocal>);
  table.Add("Log1p", Log1pGradient);
  table.Add("Sin", TimesFunction<op::Cos>);
  table.Add("Cos", CosGradient);
  table.Add("Tan", TanGradient);
  table.Add("Asin", ArcGradient<Sign::kPlus>);
  table.Add("Acos", ArcGradient<Sign::kMinus>);
  table.Add("Atan", ArcTangentGradient<Sign::kPlus>);
  table.Add("Sinh", TimesFunction<op::Cosh>);
  table.Add("Cosh", TimesFunction<op::Sinh>);
  table.Add("Tanh", TanhGradient);
  table.Add("Asinh", OverFunctionOfResult<op::Cosh>);
  table.Add("Acosh", OverFunctionOfResult<op::Sinh>);
  table.Add("Atanh", ArcTangentGradient<Sign::kMinus>);
  table.Add("Sigmoid", SigmoidGradient);
  table.Add("Erf", ErfGradient);
  table.Add("Erfc", ErfcGradient);
  table.Add("Erfinv", ErfinvGradient);
  table.Add("Ndtri", NdtriGradient);
  table.Add("Lgamma", TimesFunction<op::Digamma>);
  table.Add("Digamma", DigammaGradient);
  table.Add("CheckNumericsV2", CheckNumericsV2Gradient);
  table.Add("DebugGradientIdentity", SameGradient);
  table.Add("Cast", CastGradient);
  table.Add("Identity", SameGradient);
  table.Add("RefIdentity", SameGradient);
  table.Add("PlaceholderWithDefault", SameGradient);
  table.Add("IdentityN", IdentityNGradient);
  table.Add("PreventGradient", PreventGradient);
  table.Add("CheckNumerics", CheckNumericsGradient);
}

}  // namespace lanescope::graphs
