// SPDX-License-Identifier: Apache-2.0
// Whether a graph's attention lets a token see those before it alone.
#pragma once

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace lanescope::sims::plans {

// `attention`: a node that is a whole attention, or multiplies its queries and keys. Causal is what says so
// (the attribute `_torch_causal` of exports), or has a mask of positions compared with each other, of a
// triangle, or of numbers that the graph does not tell; without a mask, or with one of feeds alone, tokens
// see all others. True where nothing is known: of a whole attention without the attribute, and where no
// softmax follows.
bool IsCausal(const Graph& graph, const GraphInfo& info, NodeId attention);

}  // namespace lanescope::sims::plans
