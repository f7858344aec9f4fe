// SPDX-License-Identifier: Apache-2.0
// Notes that a summary has beside its tables of other tools' traces. Internal to traces.
#pragma once

#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"

namespace lanescope::traces {

// The clocks of ranks, warnings of the profiler, launches whose kernels are missing and steps without work;
// where nothing ran on any device the ranges of the host's threads (`nvtx_sums`), and what they say.
// `in_memory`: null where the run was not loaded.
void AddForeignNotes(TraceReader& reader, int run, const TraceRun* in_memory, Summary* summary);

// Launches of CUDA graphs whose kernels no recorded capture explains.
void AddUnjoinedGraphs(const TraceRun& run, Summary* summary);

}  // namespace lanescope::traces
