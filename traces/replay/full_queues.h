// SPDX-License-Identifier: Apache-2.0
// Launches that a full queue held up. Internal to traces.
#pragma once

#include <vector>

#include "traces/replay/device_operations.h"
#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

// A stream takes a number of launches ahead of time, on an H100 about 1,140; the next call returns once there
// is room. A trace says neither the number nor that a call was held up, but the law shows: such calls take
// longer than usual, all of them while about as many launches wait as there ever do, and each ends soon after
// work of the stream did. Adds that work to what these calls wait for, and counts launches that took long
// while others waited and are not explained so. `waits`: by API call, as FindHostWaits has them.
void FindFullQueues(const TraceRun& run, const DeviceOperations& operations, std::vector<HostWait>* waits,
                    ReplayFacts* facts);

}  // namespace lanescope::traces
