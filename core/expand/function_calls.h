// SPDX-License-Identifier: Apache-2.0
// Calls of functions, replaced by the functions' nodes. Internal to core/expand: brings in generated headers.
#pragma once

#include "lanescope_graph.pb.h"

namespace lanescope {

// Writes the nodes of `graph` to `out`, with functions.h's rules. False, and nothing is written, where it
// calls no function.
bool InlineCalls(const tf::FunctionDefLibrary& library, const tf::GraphDef& graph, tf::GraphDef* out);

}  // namespace lanescope
