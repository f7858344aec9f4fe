// SPDX-License-Identifier: Apache-2.0
// A polynomial of second degree, fitted by Adam to samples of another one, on one device or with the batch
// cut over several: the graphs that TensorFlow writes (samples/graphs/polynomial*.pbtxt), node for node.
#pragma once

#include "graphs/ops.h"
#include "graphs/optimizer.h"
#include "graphs/parallel.h"

namespace samples {

struct PolynomialFit {
  lanescope::Endpoint loss, train, init;
};

// One for each x, as TensorFlow writes it.
inline lanescope::Endpoint PolynomialOnes(lanescope::graphs::Scope& s, lanescope::Endpoint x) {
  namespace op = lanescope::graphs::op;
  const auto names = s.Name("ones_like");
  const std::string full = s.CurrentNames();
  return op::Fill(s, op::Shape(s, x), s.Scalar(1.0f), {.name = full});
}

inline lanescope::Endpoint PolynomialLoss(lanescope::graphs::Scope& s, lanescope::Endpoint x,
                                          lanescope::Endpoint y) {
  namespace op = lanescope::graphs::op;
  const auto& w = s.GetVariable("w", {3, 1}, {.initializer = lanescope::graphs::GlorotUniform(3)});
  const auto features =
      op::Pack(s, {op::Square(s, x), x, PolynomialOnes(s, x)}, {.name = "stack", .axis = 1});
  const auto estimate = op::Squeeze(s, op::MatMul(s, features, w), {.squeeze_dims = {1}});
  return op::Square(s, op::Sub(s, estimate, y, {.name = "sub"}));
}

// With one GPU as one writes it for one device, else cut over `gpus`.
inline PolynomialFit BuildPolynomialFit(lanescope::graphs::Scope& s, int gpus) {
  namespace op = lanescope::graphs::op;
  using lanescope::graphs::AdamOptimizer;
  s.SetRandomSeed(1);
  const lanescope::Shape any_length = {lanescope::kUnknownDim};
  const auto x = op::Placeholder(s, lanescope::DataType::kFloat, {.name = "x", .shape = any_length});
  const auto y = op::Placeholder(s, lanescope::DataType::kFloat, {.name = "y", .shape = any_length});
  const auto losses = gpus == 1 ? PolynomialLoss(s, x, y) : MakeParallel(s, PolynomialLoss, gpus, x, y);
  PolynomialFit fit;
  fit.loss = op::Mean(s, losses, op::Const(s, {0}));
  fit.train = AdamOptimizer(0.1).Minimize(s, fit.loss, {.colocate_gradients_with_ops = gpus > 1});
  fit.init = InitializeVariables(s);
  return fit;
}

}  // namespace samples
