// SPDX-License-Identifier: Apache-2.0
// Launches that left no record of what they ran. Internal to traces.
#pragma once

#include <cstdint>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

struct LostLaunches {
  int64_t launches =
      0;             // calls that launch kernels or graphs and did not fail, but for those recorded as graphs
  int64_t lost = 0;  // of which the trace has nothing that ran
};

// By process and correlation id. Launches into a stream that is recorded as a graph are nodes of that, and
// what ran without a correlation id is of some launch.
LostLaunches FindLostLaunches(TraceReader& reader, int run);

}  // namespace lanescope::traces
