// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/gathered_blocks.h"

#include <algorithm>

#include "core/strategies/block_readers.h"

namespace lanescope {

GatheredBlocks::GatheredBlocks(const Graph& graph, const GraphInfo& info, const VariablesInParts& parts,
                               const IdVector<NodeId, ShardedNode>& nodes)
    : info_(info), parts_(parts) {
  for (const NodeId id : graph.TopologicalOrder()) {
    if (nodes[id].replica != 0) continue;
    for (const Endpoint& input : graph.node(id).inputs) {
      if (!parts.IsReadAnyTime(input.node)) continue;
      std::vector<Endpoint>& block = together_[KeyOf(input, nodes[id].pass)];
      if (std::ranges::find(block, input) == block.end()) block.push_back(input);
    }
  }
}

std::vector<Endpoint> GatheredBlocks::With(Endpoint of, int pass) const {
  const auto block = together_.find(KeyOf(of, pass));
  if (block == together_.end() || std::ranges::find(block->second, of) == block->second.end()) return {of};
  return block->second;
}

GatheredBlocks::Key GatheredBlocks::KeyOf(Endpoint of, int pass) const {
  return {BlockOf(parts_.NameOfVariable(of.node)), pass, RemoveRef(info_.of(of).dtype)};
}

}  // namespace lanescope
