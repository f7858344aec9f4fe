// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/collective_members.h"

#include <map>
#include <string>
#include <utility>

namespace lanescope {
namespace {

// The name that all members share; empty: the node is of no collective that strategies write.
std::string NameOf(const Graph& graph, const Node& node) {
  if (node.op == "NcclAllReduce") return node.StringAttr("shared_name", "");
  return HasInstance(node) ? graph.node(node.inputs[kInstanceInput].node).name : "";
}

}  // namespace

bool HasInstance(const Node& node) {
  const bool has_keys = node.op == "CollectiveReduceV2" || node.op == "CollectiveGatherV2" ||
                        node.op == "CollectiveReduceScatterV2";
  return has_keys && node.inputs.size() > kInstanceInput;
}

CollectiveMembers::CollectiveMembers(const Graph& graph) : collectives_(graph.num_nodes(), 0), members_(1) {
  std::map<std::pair<std::string, std::string>, size_t> known;  // by op and name
  for (const NodeId id : graph.node_ids()) {
    const std::string name = NameOf(graph, graph.node(id));
    if (name.empty()) continue;
    const auto [at, added] = known.emplace(std::pair{graph.node(id).op, name}, members_.size());
    if (added) members_.emplace_back();
    collectives_[id] = at->second;
    members_[at->second].push_back(id);
  }
}

}  // namespace lanescope
