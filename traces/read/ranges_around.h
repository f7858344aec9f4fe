// SPDX-License-Identifier: Apache-2.0
// Which range lies within which. Internal to traces.
#pragma once

#include <vector>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

inline constexpr int kDeepestRanges = 200;  // ranges around one another that are looked at

// By range of the run the one around it on its thread; -1: none.
std::vector<int> RangesAround(const TraceRun& run);

}  // namespace lanescope::traces
