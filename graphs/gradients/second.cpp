// SPDX-License-Identifier: Apache-2.0
// Gradients of the ops that gradients are made of, for second derivatives.
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

std::vector<Gradient> ReciprocalGradGradient(const OpGradient& g) {
  const Endpoint a = g.in(0), b = g.in(1), grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint by_a = Mul(g.s, Mul(g.s, Mul(g.s, grad, -2.0), b), a);
  return {by_a, op::ReciprocalGrad(g.s, a, grad)};
}

std::vector<Gradient> SqrtGradGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint ga = Div(g.s, grad, g.in(0));
  const Endpoint by_a = Mul(g.s, Neg(g.s, ga), g.out());
  return {by_a, Mul(g.s, 0.5, ga)};
}

std::vector<Gradient> RsqrtGradGradient(const OpGradient& g) {
  const Endpoint a = g.in(0), b = g.in(1), grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint scaled = Mul(g.s, Mul(g.s, -1.5, grad), b);
  const Endpoint by_a = Mul(g.s, scaled, op::Square(g.s, a));
  return {by_a, op::RsqrtGrad(g.s, a, grad)};
}

std::vector<Gradient> TanhGradGradient(const OpGradient& g) {
  const Endpoint a = g.in(0), b = g.in(1), grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint by_a = Mul(g.s, Mul(g.s, Mul(g.s, grad, -2.0), b), a);
  return {by_a, op::TanhGrad(g.s, a, grad)};
}

std::vector<Gradient> SigmoidGradGradient(const OpGradient& g) {
  const Endpoint a = g.in(0), b = g.in(1), grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint gb = Mul(g.s, grad, b);
  const Endpoint by_a = Sub(g.s, gb, Mul(g.s, Mul(g.s, 2.0, gb), a));
  return {by_a, op::SigmoidGrad(g.s, a, grad)};
}

std::vector<Gradient> ReluGradGradient(const OpGradient& g) {
  const Endpoint by_gradient = op::ReluGrad(g.s, g.grad(), g.in(1));
  return {by_gradient, ZerosLike(g.s, g.in(1))};
}

std::vector<Gradient> Relu6GradGradient(const OpGradient& g) {
  const Endpoint by_gradient = op::Relu6Grad(g.s, g.grad(), g.in(1));
  return {by_gradient, ZerosLike(g.s, g.in(1))};
}

std::vector<Gradient> LeakyReluGradGradient(const OpGradient& g) {
  const Endpoint by_gradient =
      op::LeakyReluGrad(g.s, g.grad(), g.in(1), {.alpha = g.node().FloatAttr("alpha", 0.2f)});
  return {by_gradient, ZerosLike(g.s, g.in(1))};
}

// An activation that bends below zero alone.
using Activation = Endpoint (*)(Scope&, const Input&, const Input&, const op::OpName&);

template <Activation gradient>
std::vector<Gradient> BendGradGradient(const OpGradient& g) {
  const Endpoint x = g.in(1), grad = g.grad();
  const Endpoint by_gradient = gradient(g.s, grad, x, {});
  const Endpoint below = op::Less(g.s, x, 0);
  const Endpoint bent = Mul(g.s, grad, g.in(0));
  return {by_gradient, op::Select(g.s, below, bent, ZerosLike(g.s, x))};
}

std::vector<Gradient> SoftplusGradGradient(const OpGradient& g) {
  const Endpoint dy = g.in(0), x = g.in(1), grad = g.grad();
  const auto after = g.s.ControlDependencies({grad});
  const Endpoint by_gradient = op::SoftplusGrad(g.s, grad, x);
  const Endpoint scaled = Mul(g.s, grad, dy);
  const Endpoint falling = Add(g.s, op::Exp(g.s, Neg(g.s, x)), 2.0);
  return {by_gradient, Div(g.s, scaled, Add(g.s, falling, op::Exp(g.s, x)))};
}

std::vector<Gradient> BiasAddGradGradient(const OpGradient& g) {
  Scope& s = g.s;
  const Endpoint shape = ShapeTensor(s, g.in(0)), grad = g.grad();
  const Endpoint bias_shape = ShapeTensor(s, grad);
  Endpoint expanded, multiples;
  if (g.node().StringAttr("data_format", "NHWC") == "NCHW") {
    const Endpoint before = OnesLike(s, Range(s, shape, 0, 1));
    const Endpoint after = OnesLike(s, Range(s, shape, 2, 0));
    expanded = op::ConcatV2(s, {before, bias_shape, after}, 0, {.name = "concat"});
    const Endpoint first = Range(s, shape, 0, 1);
    multiples = op::ConcatV2(s, {Input(first), Input({1}), Range(s, shape, 2, 0)}, 0, {.name = "concat"});
  } else {
    const Endpoint before = OnesLike(s, Range(s, shape, 0, -1));
    expanded = op::ConcatV2(s, {before, bias_shape}, 0, {.name = "concat"});
    multiples = op::ConcatV2(s, {Input(Range(s, shape, 0, -1)), Input({1})}, 0, {.name = "concat"});
  }
  return {op::Tile(s, op::Reshape(s, grad, expanded), multiples)};
}

std::vector<Gradient> AvgPoolGradGradient(const OpGradient& g) {
  const Node& node = g.node();
  return {Gradient(),
          op::AvgPool(g.s, g.grad(), node.IntListAttr("ksize"), node.IntListAttr("strides"),
                      node.StringAttr("padding"), {.data_format = node.StringAttr("data_format", "NHWC")})};
}

}  // namespace

void AddSecondGradients(GradientTable& table) {
  table.Add("InvGrad", ReciprocalGradGradient);
  table.Add("ReciprocalGrad", ReciprocalGradGradient);
  table.Add("SqrtGrad", SqrtGradGradient);
  table.Add("RsqrtGrad", RsqrtGradGradient);
  table.Add("TanhGrad", TanhGradGradient);
  table.Add("SigmoidGrad", SigmoidGradGradient);
  table.Add("ReluGrad", ReluGradGradient);
  table.Add("Relu6Grad", Relu6GradGradient);
  table.Add("LeakyReluGrad", LeakyReluGradGradient);
  table.Add("EluGrad", BendGradGradient<op::EluGrad>);
  table.Add("SeluGrad", BendGradGradient<op::SeluGrad>);
  table.Add("SoftplusGrad", SoftplusGradGradient);
  table.Add("BiasAddGrad", BiasAddGradGradient);
  table.Add("AvgPoolGrad", AvgPoolGradGradient);
}

}  // namespace lanescope::graphs
