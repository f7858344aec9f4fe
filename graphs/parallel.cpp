// SPDX-License-Identifier: Apache-2.0
#include "graphs/parallel.h"

#include <algorithm>

#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"

namespace lanescope::graphs {
namespace {

void CheckTowers(const std::vector<std::vector<GradientOf>>& towers) {
  if (towers.empty()) Throw(Code::kInvalidArgument, "the average of the gradients of no towers");
  for (const auto& tower : towers) {
    if (!std::ranges::equal(tower, towers[0], {}, &GradientOf::variable, &GradientOf::variable)) {
      Throw(Code::kInvalidArgument,
            "towers have to give the gradients of the same variables, in the same order");
    }
  }
}

// Rows of all towers one behind the other, each divided by their number.
IndexedSlices AverageRows(Scope& s, const std::vector<const Gradient*>& grads) {
  std::vector<Endpoint> values, indices;
  for (const Gradient* grad : grads) {
    if (!grad->is_slices()) Throw(Code::kInvalidArgument, "the average of rows and of a whole tensor");
    values.push_back(grad->slices().values);
    indices.push_back(grad->slices().indices);
  }
  const Endpoint joined = op::ConcatV2(s, values, 0, {.name = "concat"});
  const Endpoint share = Div(s, joined, static_cast<double>(grads.size()));
  return {share, op::ConcatV2(s, indices, 0, {.name = "concat"}), grads[0]->slices().dense_shape};
}

Endpoint AverageTensors(Scope& s, const std::vector<const Gradient*>& grads) {
  std::vector<Endpoint> expanded;
  for (const Gradient* grad : grads) expanded.push_back(op::ExpandDims(s, grad->ToDense(s), 0));
  return op::Mean(s, JoinBatch(s, expanded), 0);
}

}  // namespace

std::vector<Endpoint> SplitBatch(Scope& scope, Endpoint tensor, int parts) {
  if (parts < 1) Throw(Code::kInvalidArgument, "a batch is cut into 1 or more parts, not {}", parts);
  return op::Split(scope, 0, tensor, parts, {.name = "split"});
}

Endpoint JoinBatch(Scope& scope, const std::vector<Endpoint>& parts) {
  if (parts.size() == 1) {
    const auto names = scope.Name("concat");
    return op::Identity(scope, parts[0], {.name = "concat"});
  }
  return op::ConcatV2(scope, parts, 0, {.name = "concat"});
}

std::vector<GradientOf> AverageGradients(Scope& scope, const std::vector<std::vector<GradientOf>>& towers) {
  CheckTowers(towers);
  std::vector<GradientOf> averages;
  for (size_t i = 0; i < towers[0].size(); ++i) {
    std::vector<const Gradient*> grads;
    for (const auto& tower : towers) {
      if (!tower[i].gradient.empty()) grads.push_back(&tower[i].gradient);
    }
    GradientOf average{.gradient = {}, .variable = towers[0][i].variable};
    if (!grads.empty() && grads.size() != towers.size()) {
      Throw(Code::kInvalidArgument, "only {} of {} towers have a gradient of variable '{}'", grads.size(),
            towers.size(), average.variable->name);
    }
    if (!grads.empty() && grads[0]->is_slices()) {
      average.gradient = AverageRows(scope, grads);
    } else if (!grads.empty()) {
      average.gradient = AverageTensors(scope, grads);
    }
    averages.push_back(std::move(average));
  }
  return averages;
}

}  // namespace lanescope::graphs
