// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/weight_gradients.h"

#include <algorithm>
#include <set>
#include <vector>

namespace lanescope {

IdVector<NodeId, GradientOf> SplitGradients(const Graph& graph, const IdVector<NodeId, ReplicaRole>& roles,
                                            const ForwardOrder& order,
                                            const std::function<bool(NodeId)>& has_batch,
                                            const std::function<int(NodeId)>& part) {
  const std::vector<NodeId> sorted = graph.TopologicalOrder();
  const Fanout fanout = ComputeFanout(graph);
  IdVector<NodeId, GradientOf> split(graph.num_nodes(), GradientOf::kNone);
  const auto is_gradient = [&](NodeId id) {
    return roles[id] == ReplicaRole::kReplicated && !order.is_forward(id);
  };
  for (size_t i = sorted.size(); i-- > 0;) {
    const NodeId id = sorted[i];
    if (!is_gradient(id)) continue;
    std::set<NodeId> readers;
    for (const NodeUse& use : fanout[id]) {
      if (is_gradient(use.node)) readers.insert(use.node);
    }
    const bool for_weights =
        std::ranges::all_of(readers, [&](NodeId reader) { return split[reader] == GradientOf::kWeights; });
    const bool of_sum = readers.size() == 1 && part(*readers.begin()) == part(id);
    split[id] = for_weights && (of_sum || !has_batch(id)) ? GradientOf::kWeights : GradientOf::kInputs;
  }
  // No pass of a part waits for weights of another one.
  for (const NodeId id : sorted) {
    if (split[id] != GradientOf::kWeights) continue;
    for (const Endpoint& input : graph.node(id).inputs) {
      const bool foreign = split[input.node] == GradientOf::kWeights && part(input.node) != part(id);
      if (foreign || split[input.node] == GradientOf::kShared) split[id] = GradientOf::kShared;
    }
  }
  return split;
}

}  // namespace lanescope
