// Calls of functions, replaced by what the functions do: nothing after this knows functions.
#pragma once

#include "core/graph/graph.h"

namespace lanescope {

// The graph without calls (PartitionedCall, StatefulPartitionedCall, and ops named as a function of the
// graph's library), however deep they are nested. The nodes of a call's function are called "CALL/NODE" and
// are on the call's device where they ask for none; users of the call's outputs take them from the nodes that
// make them. A node with the call's name stays: its outputs are those of the call, and it runs after all that
// the function does for its effect. A StatelessIf becomes both of its branches and a Select of their outputs.
// Throws InvalidArgument for a function that is not there, that calls itself, or that does not fit its call,
// or for more than half a million nodes.
Graph InlineFunctions(const Graph& graph);

}  // namespace lanescope
