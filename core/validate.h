// Checks a graph against the op registry before anything is done with it.
#pragma once

#include "core/graph.h"

namespace lanescope {

// Throws InvalidArgument (naming the node) for: an input of the wrong dtype, wrong number of inputs, an
// output number that the producer lacks, a missing, unknown-valued or out-of-range attribute, a cycle, absurd
// sizes; Unimplemented for control flow (Switch, Merge, Enter, Exit, NextIteration, While, If, Case ...) and
// function calls (PartitionedCall, or an op defined in the library). Ops without a definition pass.
void ValidateGraph(const Graph& graph);

}  // namespace lanescope
