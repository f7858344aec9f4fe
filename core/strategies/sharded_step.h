// SPDX-License-Identifier: Apache-2.0
// A step of replicas with its variables in parts, one on each GPU. Internal to core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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
// How much of a step is in parts, by the stages of ZeRO (Rajbhandari et al., 2020).
enum class ZeroStage : uint8_t {
  kOptimizer = 1,   // gradients are scattered when the backward pass is over
  kGradients = 2,   // those of a block as soon as they are there
  kParameters = 3,  // and no GPU keeps a whole copy of what it reads
};
struct Sharding {
  std::string_view strategy;  // the scope of what is added
  ZeroStage stage = ZeroStage::kParameters;
  size_t parts = 0;  // replicas that have all parts of a variable among them; they follow each other
};
// Variables whose elements divide among `parts` replicas, and that are read whole and updated element by
// element, get a part on each of `devices`: by place, replica r's at r, which is part r % parts; the others
// stay as they are. `nodes`: of the graph.
StepGraph WriteShardedStep(const StepGraph& replicas, const IdVector<NodeId, ShardedNode>& nodes,
                           const std::vector<std::vector<std::string>>& devices, const Sharding& sharding);

}  // namespace lanescope
