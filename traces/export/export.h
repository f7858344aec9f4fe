// SPDX-License-Identifier: Apache-2.0
// A run in the formats of other tools.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

using ExportOutput = std::function<void(std::string_view)>;

// Perfetto's protobuf: tracks by process, slices, arrows as flows, counters.
void WritePerfetto(const TraceRun& run, const ExportOutput& output);
// Chrome's trace format in JSON, with the same.
void WriteChrome(const TraceRun& run, const ExportOutput& output);
// A line for each slice (RFC 4180): kind,name,op,process,track,start_ns,duration_ns,bytes,step,range,shapes.
void WriteCsv(const TraceRun& run, const ExportOutput& output);
// Chakra's execution trace of one rank, with what waits for what and the order of each stream and thread. Of
// a run of several tasks each is a rank: what its devices did, and its ends of what is copied to and from
// others, by which two files belong together. Else each of several GPUs is one: what ran on it and the calls
// of the threads that launched it. Else one rank has all. `rank`: less than ChakraRanks.
void WriteChakra(const TraceRun& run, int rank, const ExportOutput& output);
// Chakra has a file for each.
int ChakraRanks(const TraceRun& run);
// The schedules of a run as a graph for `dot`: launches and copies by device, arrows along dependencies.
// Throws FailedPrecondition for a run that records none.
void WriteGraphviz(const TraceRun& run, const ExportOutput& output);

}  // namespace lanescope::traces
