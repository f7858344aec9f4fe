// SPDX-License-Identifier: Apache-2.0
// Loops of TensorFlow 1 as nodes with functions. Internal to core: brings in generated headers.
#pragma once

#include "lanescope_graph.pb.h"

namespace lanescope {

// Replaces every loop made of Enter, Merge, Switch, LoopCond, NextIteration and Exit by a While node of two
// functions, the innermost first. The node takes what the Enters take, first of the variables, then of the
// constants, and is called as the loop's nodes begin ("while/..." gives "while"); an Exit stays as an
// Identity of one of its outputs, under its name. Throws Unimplemented, naming a node, for a loop that is put
// together in another way, and for one over reference variables.
void RaiseLoops(tf::GraphDef* graph);

}  // namespace lanescope
