// SPDX-License-Identifier: Apache-2.0
// Sums and means of the tensors of all replicas, told by the nodes that make them. Internal to core.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

enum class Total : uint8_t { kSum, kMean };

struct ReplicaTotal {
  Total total;
  NodeId sum;  // its inputs are the replicas' tensors
};

// None: the node makes neither of the tensors of so many replicas.
std::optional<ReplicaTotal> TotalOfReplicas(const Graph& graph, NodeId id, size_t replicas);

}  // namespace lanescope
