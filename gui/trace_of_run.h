// A run of the timeline as the analyses of traces/ take it.
#pragma once

#include "gui/run_data.h"
#include "traces/trace_reader.h"

namespace lanescope::gui {

// Launches, copies, steps, commands and dependencies; no threads and no memory. Of more than `max_slices`
// slices whole steps are left out, evenly. Throws ResourceExhausted where there are too many slices and no
// steps.
TraceRun TraceOfRun(const RunData& run, int64_t max_slices = 400'000);

}  // namespace lanescope::gui
