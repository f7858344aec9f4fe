// SPDX-License-Identifier: Apache-2.0
// The nodes of a graph's collectives: which belong together. Internal to core/collective.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace lanescope {

enum class CollectiveOp { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce };

struct CollectiveGroup {
  CollectiveOp kind = CollectiveOp::kAllReduce;
  std::string name;  // for messages
  std::vector<NodeId>
      members;          // device i's is members[i], in the order of the graph; a broadcast's sender first
  std::string combine;  // the op that puts two tensors together; empty: none does
  bool mean = false;    // of the combination, its share
  DataType type = DataType::kInvalid;
};

// NcclAllReduce nodes of one shared name, Collective* nodes of one kind, group key and instance key, and each
// NcclReduce and NcclBroadcast alone. Not those that say themselves what they cost: they are simulated as
// they are; nor parts of joint launches.
bool HasCollectives(const Graph& graph);
// Throws InvalidArgument for keys that are not constant.
std::vector<CollectiveGroup> FindCollectives(const Graph& graph, const GraphInfo& info);
// The shape of each member's tensor, as far as all agree. Throws InvalidArgument where some of the devices
// are missing, or the nodes want different things.
Shape CheckCollective(const Graph& graph, const GraphInfo& info, const CollectiveGroup& group);

}  // namespace lanescope
