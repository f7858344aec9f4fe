// SPDX-License-Identifier: Apache-2.0
// Reasons for nodes to share a device: state that flows between them, and groups that they name. TensorFlow's
// rules.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace lanescope {

// Visits every data edge whose ends must share a device, because it carries a reference or a resource:
// visit(src, dst), for every dst in the given order of all nodes.
void ForEachSharedStateEdge(const Graph& graph, std::span<const NodeId> order, const OpRegistry& registry,
                            const std::function<void(NodeId src, NodeId dst)>& visit);
// The names g of the node's `_class` entries "loc:@g".
std::vector<std::string_view> LocationsOf(const Node& node);
// Which node founded the group of a name: the first one, in the order of calls, that joined it. Nearly all
// groups bear the name of a node, so that most need no look-up by text of their own.
class GroupFounders {
 public:
  explicit GroupFounders(const Graph& graph) : graph_(graph), of_node_(graph.num_nodes()) {}
  // The founder of group `name`, which `id` joins (itself, if it is the first).
  NodeId Join(std::string_view name, NodeId id);
  // Joins the group that bears the name of node `id`.
  NodeId JoinOwn(NodeId id);

 private:
  const Graph& graph_;
  IdVector<NodeId, NodeId> of_node_;  // by the node whose name the group bears
  std::unordered_map<std::string_view, NodeId> others_;
};

// No inputs, one output, and that a reference or a resource.
bool IsStateGenerator(const Node& node, const OpRegistry& registry);
// No inputs and one output that is no reference.
bool IsGenerator(const Node& node, const OpRegistry& registry);

}  // namespace lanescope
