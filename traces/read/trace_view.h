// SPDX-License-Identifier: Apache-2.0
// A run that was read from SQLite, as a RunView.
#pragma once

#include "core/runs/run_view.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// `run` must outlive the view.
RunView ViewOfRun(const TraceRun& run);
// Makes it of a run that is read into `run` on the way, without what StreamRun leaves out.
RunView StreamView(TraceReader& reader, int number, TraceRun* run);

}  // namespace lanescope::traces
