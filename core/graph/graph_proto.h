// SPDX-License-Identifier: Apache-2.0
// Graphs between memory and the GraphDef messages. Internal to core: brings in generated headers.
#pragma once

#include "core/graph/graph.h"
#include "lanescope_graph.pb.h"

namespace lanescope {

// Resolves inputs by name, in any order of nodes. Takes `proto` apart. Throws InvalidArgument for a bad or
// duplicate name, a missing input, a data input after a control input, or a malformed attribute.
Graph GraphFromProto(tf::GraphDef* proto);
void GraphToProto(const Graph& graph, tf::GraphDef* proto);

}  // namespace lanescope
