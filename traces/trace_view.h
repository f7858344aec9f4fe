// A run that was read from SQLite, as a RunView.
#pragma once

#include "core/run_view.h"
#include "traces/trace_reader.h"

namespace lanescope {

// `run` must outlive the view.
RunView ViewOfRun(const TraceRun& run);

}  // namespace lanescope
