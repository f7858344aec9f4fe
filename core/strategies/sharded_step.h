// SPDX-License-Identifier: Apache-2.0
// A step of replicas with its variables in parts, one on each GPU. Internal to core.
#pragma once

#include <string>
#include <vector>

#include "core/strategies/graph_strategy.h"

namespace lanescope {

// A node of the replicated graph, as the writer must know it.
struct ShardedNode {
  int replica = -1;      // -1: it stands once
  int pass = 0;          // of a replica: variables are gathered once for each pass
  bool updates = false;  // it writes variables, or serves such nodes alone
  bool added = false;    // it joins what the replicas made, as sums of their gradients do
  int place = 0;         // of the GPU that it is on, among those that share a replica
};
// Variables whose elements divide among the replicas, and that are read whole and updated element by element,
// get a part on each of `devices`: by place, replica r's at r; the others stay as they are. `nodes`: of the
// graph.
StepGraph WriteShardedStep(const StepGraph& replicas, const IdVector<NodeId, ShardedNode>& nodes,
                           const std::vector<std::vector<std::string>>& devices);

}  // namespace lanescope
