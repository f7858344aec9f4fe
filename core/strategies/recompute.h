// SPDX-License-Identifier: Apache-2.0
// Blocks whose activations are computed again for their gradients. Internal to core.
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace lanescope {

// By node of a graph: the node of the forward pass that it computes again; itself for all others.
IdVector<NodeId, NodeId> RecomputedFrom(const Graph& graph);

// "h/3" of "h/3/attn/Mul": the block that a node of the forward pass is in; empty: it is in none.
std::string NumberedScope(const std::string& name);

}  // namespace lanescope
