// SPDX-License-Identifier: Apache-2.0
// A step's graph with everything that depends on the batch written once for each of several parts of it.
// Internal to core.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/strategies/graph_strategy.h"

namespace lanescope {

// Why nothing can be replicated, and what to do.
inline constexpr const char* kNoBatchAxis =
    "the run configuration has no batch_axis, which says of each feed which dimension is the batch: "
    "\"batch_axis\": {\"NAME\": 0}";

// The parts of a graph that are written once, and those that are written for each part of the batch.
enum class ReplicaRole : uint8_t {
  kShared,      // depends on no batch: variables, constants
  kFeed,        // a placeholder that holds the batch
  kReplicated,  // depends on the batch and comes before the update
  kUpdating,    // writes variables, serves such nodes alone in the name scope of one, or follows one
};
IdVector<NodeId, ReplicaRole> FindReplicaRoles(const Graph& graph, const RunSpec& spec);

struct ReplicaPlan {
  std::string_view strategy;  // for messages and for the scope of what is added
  std::string_view scope;     // of replica r: this and r
  int replicas = 2;           // parts of the batch
  // The device of a node's replica, and with -1 of a node that is written once; empty: as the node says.
  std::function<std::string(NodeId node, int replica)> device;
  bool accumulate = false;  // sums of the replicas grow one by one, so that none waits for the others

  // Nodes that the graph puts on the CPU stay there.
  void SetDevice(NodeId id, int replica, Node* node) const;
};

struct ReplicatedGraph {
  StepGraph step;
  IdVector<NodeId, NodeId> first;  // by node of the old graph: itself in the new one, or its first replica
};

// Variables are shared; what other nodes read of the replicas is what the whole batch gives: all their rows,
// their sum, or their mean (batch_parts.h). Throws InvalidArgument where the batch cannot be shared out,
// naming the node in the way. Replicas of a node follow each other.
inline NodeId ReplicaAt(NodeId first, int replica) { return NodeId(first.number() + replica); }

ReplicatedGraph Replicate(const RewriteInput& input, const ReplicaPlan& plan,
                          const IdVector<NodeId, ReplicaRole>& roles);

}  // namespace lanescope
