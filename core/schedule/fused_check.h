// SPDX-License-Identifier: Apache-2.0
// Checks launches that run several nodes: what these read and write, and in which order. Internal to core.
#pragma once

#include "core/schedule/schedule.h"

namespace lanescope {

// Throws Internal naming the node.
void CheckFused(const Graph& graph, const Schedule& schedule);

}  // namespace lanescope
