// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/needed_nodes.h"

#include <utility>

namespace lanescope {

IdVector<NodeId, char> NeededBy(const Graph& graph, const RunSpec& spec, std::vector<NodeId> open) {
  IdVector<NodeId, char> needed(graph.num_nodes(), 0);
  IdVector<NodeId, char> fed(graph.num_nodes(), 0);
  for (const auto& [name, feed] : spec.feeds) fed[graph.FindEndpoint(name).node] = 1;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (std::exchange(needed[id], 1) != 0 || fed[id] != 0) continue;
    for (const Endpoint& input : graph.node(id).inputs) open.push_back(input.node);
    const std::vector<NodeId>& controls = graph.node(id).control_inputs;
    open.insert(open.end(), controls.begin(), controls.end());
  }
  return needed;
}

std::vector<NodeId> NodesOf(const Graph& graph, const std::vector<const std::vector<std::string>*>& lists) {
  std::vector<NodeId> nodes;
  for (const std::vector<std::string>* names : lists) {
    for (const std::string& name : *names) nodes.push_back(graph.FindEndpoint(name).node);
  }
  return nodes;
}

}  // namespace lanescope
