// SPDX-License-Identifier: Apache-2.0
// How much of a run the profiler itself took. Internal to traces and cli.
#pragma once

#include <cstdint>

#include "core/time/intervals.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {

struct ProfilerShare {
  int64_t taken_ns = 0, window_ns = 0;
  double share() const {
    return window_ns > 0 ? static_cast<double>(taken_ns) / static_cast<double>(window_ns) : 0;
  }
};

// The share of `window`. Where the trace does not show it: nothing.
ProfilerShare FindProfilerShare(TraceReader& reader, int run, Interval window);

}  // namespace lanescope::traces
