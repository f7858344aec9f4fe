// SPDX-License-Identifier: Apache-2.0
// A step whose experts are variables of their own, in parts. Internal to core.
#pragma once

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/inputs/run_spec.h"

namespace lanescope {

struct ExpertParts {
  Graph graph;
  RunSpec spec;
  IdVector<NodeId, int> part;  // by node: the part of the experts that it belongs to; -1: to none
};

// Every stack of experts, which is a variable whose first axis is read one index at a time, becomes a
// variable for each of so many parts, with its share of the optimizer's state and of the update. A sum over
// experts is a sum over the parts of sums over their experts. Throws InvalidArgument for a graph without such
// stacks, and where the experts do not divide.
ExpertParts SplitExperts(const Graph& graph, const RunSpec& spec, const GraphInfo& info, int parts);

}  // namespace lanescope
