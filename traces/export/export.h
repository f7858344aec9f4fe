// A run in the formats of other tools.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

using ExportOutput = std::function<void(std::string_view)>;

// Perfetto's protobuf: tracks by process, slices, arrows as flows, counters.
void WritePerfetto(const TraceRun& run, const ExportOutput& output);
// Chrome's trace format in JSON, with the same.
void WriteChrome(const TraceRun& run, const ExportOutput& output);
// A line for each slice (RFC 4180): kind,name,op,process,track,start_ns,duration_ns,bytes,step,range,shapes.
void WriteCsv(const TraceRun& run, const ExportOutput& output);
// The schedules of a run as a graph for `dot`: launches and copies by device, arrows along dependencies.
// Throws FailedPrecondition for a run that records none.
void WriteGraphviz(const TraceRun& run, const ExportOutput& output);

}  // namespace lanescope::traces
