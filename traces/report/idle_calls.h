// SPDX-License-Identifier: Apache-2.0
// The host's calls while no device did anything. Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "core/time/intervals.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// By name of an API call (number of a text, or id of StringIds): how much of the gaps, which are sorted and
// disjoint, calls of that name were under way in any thread.
using CallsInGaps = std::map<int64_t, int64_t>;
CallsInGaps FindCallsInGaps(const TraceRun& run, std::span<const Interval> gaps);
CallsInGaps FindCallsInGaps(Database& database, int run, bool ours, std::span<const Interval> gaps);

}  // namespace lanescope::traces
