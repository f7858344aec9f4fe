// SPDX-License-Identifier: Apache-2.0
// Nodes of a written graph that are one collective. Internal to core.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

// A collective whose members have one instance key, a constant.
bool HasInstance(const Node& node);
inline constexpr size_t kInstanceInput = 3;

// By the constant of the instance, which StepNodes::NewGroup makes once for all members, and all-reduces of
// NCCL by the name that they share.
class CollectiveMembers {
 public:
  explicit CollectiveMembers(const Graph& graph);
  // All members of the collective that the node is of; empty: it is of none.
  const std::vector<NodeId>& Of(NodeId id) const { return members_[collectives_[id]]; }

 private:
  IdVector<NodeId, size_t> collectives_;  // 0: of none
  std::vector<std::vector<NodeId>> members_;
};

}  // namespace lanescope
