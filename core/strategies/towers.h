// SPDX-License-Identifier: Apache-2.0
// Finds the parallel towers of a graph by structure alone: branches that look the same and meet in one node.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace lanescope {

struct Towers {
  static constexpr int kUnknown = -1;  // belongs to no tower
  static constexpr int kShared = -2;   // several towers need it

  int count = 0;                // 0: none found
  NodeId join;                  // the node where they meet
  IdVector<NodeId, int> label;  // by node: the tower's number, kUnknown or kShared
};

// `work`: how much each node costs, by node, in any unit. A tower is what one input of the join needs and no
// other does. Of all joins the one is taken whose towers do the most work, among those whose towers do most
// of the work that leads there.
Towers FindTowers(const Graph& graph, const GraphInfo& info, const IdVector<NodeId, double>& work);

}  // namespace lanescope
