// SPDX-License-Identifier: Apache-2.0
// One model on many devices: the batch is cut into equal parts, every device runs the model on one of them
// with the same variables, and what comes out is joined, or its gradients are averaged.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "graphs/optimizer.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

// `parts` equal parts of a tensor, along its first dimension. Throws InvalidArgument where its size is known
// and does not divide.
std::vector<Endpoint> SplitBatch(Scope& scope, Endpoint tensor, int parts);
// The parts one behind the other.
Endpoint JoinBatch(Scope& scope, const std::vector<Endpoint>& parts);

// Calls `model(scope, part...)` for every part of the inputs, and joins the results. The i-th call is under
// "/device:GPU:i"; all calls after the first find the variables of the first. Throws InvalidArgument for less
// than one GPU.
template <typename Model, typename... Inputs>
Endpoint MakeParallel(Scope& scope, Model&& model, int gpus, const Inputs&... inputs) {
  const std::vector<std::vector<Endpoint>> parts = {SplitBatch(scope, inputs, gpus)...};
  std::vector<Endpoint> outputs;
  for (int i = 0; i < gpus; ++i) {
    const auto device = scope.Device(DeviceSpec{.type = "GPU", .index = i});
    const auto reuse = scope.ReuseVariables(i > 0);
    [&]<size_t... k>(std::index_sequence<k...>) {
      outputs.push_back(model(scope, parts[k][static_cast<size_t>(i)]...));
    }
    (std::index_sequence_for<Inputs...>());
  }
  return JoinBatch(scope, outputs);
}

// The mean over towers of every variable's gradient, in the order of the first tower. Every tower gives the
// same variables. Rows of a table (IndexedSlices) are joined, each with its share. Throws InvalidArgument for
// towers that differ, or where some towers have no gradient of a variable.
std::vector<GradientOf> AverageGradients(Scope& scope, const std::vector<std::vector<GradientOf>>& towers);

}  // namespace lanescope::graphs
