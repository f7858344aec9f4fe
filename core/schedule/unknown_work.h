// SPDX-License-Identifier: Apache-2.0
// Which launches of a step have work that nobody knows, and what that comes from.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// Launches of one op that are unknown of themselves, and those that are because of them.
struct UnknownWork {
  std::string op;
  bool defined = false;  // the op has a definition here, but the size of its result is not known
  int launches = 0;
  int followers = 0;  // launches of known ops that read or write tensors whose sizes follow from it
};

// In the order in which the step meets the ops. A launch of an op without a definition is known if its node
// says what it costs (`_lanescope_cost`) and what it yields (`_output_shapes`).
std::vector<UnknownWork> FindUnknownWork(const Graph& graph, const GraphInfo& info, const Schedule& schedule);

}  // namespace lanescope
