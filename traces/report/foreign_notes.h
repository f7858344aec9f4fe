// What a summary says beside its tables of other tools' traces. Internal to traces.
#pragma once

#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"

namespace lanescope::traces {

// The clocks of ranks; where nothing ran on any device the ranges of the host's threads (`nvtx_sums`), and
// what they say.
void AddForeignNotes(TraceReader& reader, int run, Summary* summary);

}  // namespace lanescope::traces
