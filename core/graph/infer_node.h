// SPDX-License-Identifier: Apache-2.0
// Shapes, dtypes and constant values of one node's outputs, for graphs that grow node by node.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace lanescope {

// Types and shapes of the outputs, given as many inputs as the op takes (NodeBuilder checks that). Throws
// InvalidArgument naming the node on a mismatch.
std::vector<TensorInfo> InferNode(const Node& node, std::span<const TensorInfo> inputs);

}  // namespace lanescope
