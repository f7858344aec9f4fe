// SPDX-License-Identifier: Apache-2.0
// One graph that holds a network several times.
#pragma once

#include <cstdint>
#include <string>

#include "core/graph/graph.h"
#include "core/inputs/run_spec.h"

namespace lanescope::study {

// The prefix of the names of replica r: "replica_0/".
std::string ReplicaScope(int replica);
// The node of a replica that repeats a node of the graph.
inline NodeId ReplicaNode(NodeId node, size_t nodes, int replica) {
  return NodeId(static_cast<size_t>(replica) * nodes + node.index());
}

// Nodes, colocation groups and shared resources get the names of their replica; nothing is shared. Loops and
// functions must be inlined, as a workload's are.
Graph RepeatGraph(const Graph& graph, int replicas);
// The step of all. Feeds that have no seed of their own get `seed` and the replica's number. The loss is the
// first one's.
RunSpec RepeatStep(const RunSpec& spec, int replicas, uint64_t seed);

}  // namespace lanescope::study
