// SPDX-License-Identifier: Apache-2.0
// The output types of all nodes of a graph. Internal to core.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

// By node, in rows.
struct GraphOutputTypes {
  std::vector<int> first;       // num_nodes + 1
  std::vector<DataType> types;  // references keep their mark
  int Count(NodeId node) const { return first[node.index() + 1] - first[node.index()]; }
  DataType Of(Endpoint endpoint) const {
    return types[static_cast<size_t>(first[endpoint.node.index()] + endpoint.output)];
  }
};

// By OutputTypes. Of a node of which nothing is known (its op is unknown, or it has a problem) there are at
// least the outputs that other nodes read, of the types that the first reader expects. Throws InvalidArgument
// as OutputTypes does, and for an absurd output number.
GraphOutputTypes CollectOutputTypes(const Graph& graph);

}  // namespace lanescope
