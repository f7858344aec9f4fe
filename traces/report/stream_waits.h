// SPDX-License-Identifier: Apache-2.0
// Waits of the streams of a GPU. Internal to traces.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/read/trace_reader.h"
#include "traces/report/waits.h"

namespace lanescope::traces {

inline constexpr int64_t kHandOverNs = 10'000;  // so soon after what it waited for an operation begins

// An operation that ran on a GPU.
struct WaitingOperation {
  int64_t start_ns = 0, end_ns = 0;
  int stream = 0;
  int call : 30 = -1;           // index into the run's API calls
  bool moves : 1 = false;       // a kernel of NCCL, or a copy from or to elsewhere
  bool collective : 1 = false;  // a kernel of NCCL
};

// Adds the streams of a device, whose operations are sorted by their start.
void FindStreamWaits(const TraceRun& run, int device, const std::vector<WaitingOperation>& operations,
                     std::vector<StreamWaits>* found);

}  // namespace lanescope::traces
