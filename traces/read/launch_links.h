// SPDX-License-Identifier: Apache-2.0
// From an activity to the API call that launched it, and from there to the NVTX range around that call.
// Internal to traces and gui.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// Finds API calls by process and correlation id. An activity without a process is found by its correlation id
// alone. `calls` must outlive it.
class ApiCallIndex {
 public:
  explicit ApiCallIndex(const std::vector<TraceApiCall>& calls);
  // Index into the calls, or -1. Of several, the last that began no later than `not_after`.
  int Find(int64_t global_pid, int64_t correlation, int64_t not_after) const;

 private:
  struct Entry {
    int64_t correlation = 0, global_pid = 0, start_ns = 0;
    int call = 0;
  };
  std::vector<Entry> entries_;
};

// Sets `range` of every API call: the range that started last of those that contain the start of the call, on
// its thread (push/pop) or in its process (start/end). Needs ranges sorted by start. O(n log n).
void LinkApiCallsToRanges(TraceRun* run);

}  // namespace lanescope::traces
