// SPDX-License-Identifier: Apache-2.0
// Which tasks are parts of one collective. Internal to traces.
#pragma once

#include <vector>

#include "traces/replay/device_operations.h"
#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

// Finds kernels that all GPUs have, where the last began before the first had ended, and fills the graph's
// collectives, what their tasks take from then on, and the counts of both. `task_of_operation`: by operation.
void LinkCollectives(const TraceRun& run, const DeviceOperations& operations,
                     const std::vector<int>& task_of_operation, ReplayGraph* graph);

}  // namespace lanescope::traces
