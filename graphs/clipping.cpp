// SPDX-License-Identifier: Apache-2.0
// Gradients that are too large, made smaller.
#include "graphs/gradients/arithmetic.h"
#include "graphs/optimizer.h"

namespace lanescope::graphs {
namespace {

Endpoint ValuesOf(const Gradient& gradient) {
  return gradient.is_slices() ? gradient.slices().values : gradient.dense();
}

Gradient WithValues(const Gradient& gradient, Endpoint values) {
  if (!gradient.is_slices()) return values;
  return IndexedSlices{values, gradient.slices().indices, gradient.slices().dense_shape};
}

}  // namespace

Gradient ClipByNorm(Scope& scope, const Gradient& gradient, const Input& clip_norm) {
  const Endpoint values = ValuesOf(gradient);
  const auto names = scope.Name("clip_by_norm");
  const std::string full = scope.CurrentNames();
  const Endpoint square = Mul(scope, values, values);
  const Endpoint sum = SumOver(scope, square, AllAxes(scope, square), true);
  // Nothing is divided by a norm of zero.
  const Endpoint positive = op::Greater(scope, sum, 0);
  const Endpoint safe = op::Select(scope, positive, sum, OnesLike(scope, sum));
  const Endpoint root = op::Sqrt(scope, safe);
  const Endpoint norm = op::Select(scope, positive, root, sum);
  const Endpoint scaled = Mul(scope, values, clip_norm);
  const Endpoint clipped = Div(scope, scaled, op::Maximum(scope, norm, clip_norm));
  return WithValues(gradient, op::Identity(scope, clipped, {.name = full}));
}

Endpoint GlobalNorm(Scope& scope, const std::vector<Gradient>& gradients) {
  const auto names = scope.Name("global_norm");
  std::vector<Endpoint> halves;
  for (const Gradient& gradient : gradients) {
    if (gradient.empty()) continue;
    const auto with = scope.ColocateWith(ValuesOf(gradient));
    halves.push_back(op::L2Loss(scope, ValuesOf(gradient)));
  }
  if (halves.empty()) Throw(Code::kInvalidArgument, "the norm of no gradients");
  const Endpoint all = op::Pack(scope, halves, {.name = "stack"});
  const Endpoint sum = SumOver(scope, all, AllAxes(scope, all));
  const Endpoint two = ScalarOf(scope, 2, scope.TypeOf(sum));
  return op::Sqrt(scope, Mul(scope, sum, two), {.name = "global_norm"});
}

std::vector<Gradient> ClipByGlobalNorm(Scope& scope, const std::vector<Gradient>& gradients,
                                       const Input& clip_norm) {
  const Endpoint norm = GlobalNorm(scope, gradients);
  const auto names = scope.Name("clip_by_global_norm");
  const std::string full = scope.CurrentNames();
  const Endpoint inverse = Div(scope, 1, norm);
  const Endpoint one = ScalarOf(scope, 1, scope.TypeOf(norm));
  const Endpoint least = op::Minimum(scope, inverse, Div(scope, one, clip_norm));
  const Endpoint factor = Mul(scope, clip_norm, least);
  // A norm that is no number makes everything no number.
  const Endpoint scale = Add(scope, factor, Sub(scope, norm, norm));
  std::vector<Gradient> clipped;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].empty()) {
      clipped.emplace_back();
      continue;
    }
    const Endpoint values = ValuesOf(gradients[i]);
    const auto with = scope.ColocateWith(values);
    const Endpoint product = Mul(scope, values, Cast(scope, scale, scope.TypeOf(values)));
    clipped.push_back(
        WithValues(gradients[i], op::Identity(scope, product, {.name = full + "_" + std::to_string(i)})));
  }
  return clipped;
}

}  // namespace lanescope::graphs
