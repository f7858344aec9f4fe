// SPDX-License-Identifier: Apache-2.0
// Graphs that have been partitioned already, as TensorFlow does before it runs them: one again. Internal to
// core/expand.
#pragma once

#include "core/graph/graph.h"

namespace lanescope {

// Whether it has what PartitionsJoined changes.
bool HasPartitions(const Graph& graph);

// All partitions in one graph. A receive (_Recv, _HostRecv) takes the tensor from its send, which is the one
// of the same devices, incarnation and tensor name; a send then is a node without an effect. What has its
// other end elsewhere stays. The arguments and results of a step (_Arg, _Retval) are placeholders and
// identities.
Graph PartitionsJoined(Graph graph);

}  // namespace lanescope
