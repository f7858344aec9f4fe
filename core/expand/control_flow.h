// SPDX-License-Identifier: Apache-2.0
// Loops, branches and lists of tensors of a graph without calls, replaced. Internal to core/expand.
#pragma once

#include "core/expand/function_graphs.h"
#include "core/expand/functions.h"
#include "core/graph/graph.h"

namespace lanescope {

bool HasControlFlow(const Graph& graph);

// By functions.h's rules. `functions`: of the graph's library.
Graph ExpandControlFlow(const Graph& graph, FunctionGraphs* functions, const InlineOptions& options);

}  // namespace lanescope
