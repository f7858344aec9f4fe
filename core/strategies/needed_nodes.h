// SPDX-License-Identifier: Apache-2.0
// Nodes that a step needs of its graph. Internal to core.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/inputs/run_spec.h"

namespace lanescope {

// All that these nodes need; what a feed replaces needs nothing.
IdVector<NodeId, char> NeededBy(const Graph& graph, const RunSpec& spec, std::vector<NodeId> open);
// The nodes of these names and tensors.
std::vector<NodeId> NodesOf(const Graph& graph, const std::vector<const std::vector<std::string>*>& lists);

}  // namespace lanescope
