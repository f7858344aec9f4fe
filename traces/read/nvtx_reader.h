// SPDX-License-Identifier: Apache-2.0
// NVTX ranges, API calls and thread names of a trace. Internal to traces.
#pragma once

#include <functional>

#include "traces/read/activity_origins.h"
#include "traces/read/activity_reader.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// Whether API calls are kept: else only where there are ranges, which lie around them.
enum class KeepCalls { kAlways, kForRanges };

// Fills ranges (by start), api_calls (in the order of the file) and threads of `run`. False: calls were not
// kept, and not read.
bool ReadHostActivities(Database& database, const RunFilter& filter, KeepCalls keep, TextNumbers& texts,
                        TraceRun* run);

// In the order of the file; those without usable times count as invalid rows of the run.
void ReadApiCalls(Database& database, const RunFilter& filter, TextNumbers& texts, int64_t* invalid_rows,
                  const std::function<void(const TraceApiCall&)>& visit);

// Ranges that were still open end where the trace does: at `end_ns`, or at their start if that is later.
void CloseRanges(int64_t end_ns, TraceRun* run);

}  // namespace lanescope::traces
