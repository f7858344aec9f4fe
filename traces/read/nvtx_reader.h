// NVTX ranges, API calls and thread names of a trace. Internal to traces.
#pragma once

#include "traces/read/activity_origins.h"
#include "traces/read/activity_reader.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// Fills ranges (by start), api_calls (in the order of the file) and threads of `run`.
void ReadHostActivities(Database& database, const RunFilter& filter, TextNumbers& texts, TraceRun* run);

// Ranges that were still open end where the trace does: at `end_ns`, or at their start if that is later.
void CloseRanges(int64_t end_ns, TraceRun* run);

}  // namespace lanescope::traces
