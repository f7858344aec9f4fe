// SPDX-License-Identifier: Apache-2.0
// The backward pass in two: gradients that go on, and those of variables. Internal to core.
#pragma once

#include <functional>

#include "core/strategies/forward_order.h"

namespace lanescope {

enum class GradientOf : uint8_t {
  kNone,     // it is no gradient
  kInputs,   // other gradients need it, or another part of the model does
  kWeights,  // only updates of variables need it
  kShared,   // the same, and it adds up what several parts of the model give
};

// `has_batch`: whether an output of the node grows with the batch. A variable's gradient does not, and begins
// where the batch is summed over; what only such a sum reads belongs to it. `part`: of the model, by node.
IdVector<NodeId, GradientOf> SplitGradients(const Graph& graph, const IdVector<NodeId, ReplicaRole>& roles,
                                            const ForwardOrder& order,
                                            const std::function<bool(NodeId)>& has_batch,
                                            const std::function<int(NodeId)>& part);

}  // namespace lanescope
