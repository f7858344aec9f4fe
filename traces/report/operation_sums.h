// SPDX-License-Identifier: Apache-2.0
// The tables of Nsight Systems: sums of kernels, of memory operations by time and by size. Private to
// traces/. Internal to traces.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"

namespace lanescope::traces {

OperationSum SumOf(std::string name, std::vector<int64_t> values);
// Sums of ranges that begin in the time of a step (-1: of all); those that did not end are left out.
std::vector<OperationSum> SumsOfRanges(const TraceRun& run, int step);
// Fills kernel_sums, memory_time_sums, memory_size_sums, api_sums and nvtx_sums with the activities of a step
// (-1: of all).
void FillOperationSums(const TraceRun& run, bool full_names, int step, Summary* summary);

// Activities by the place of their launch. Throws FailedPrecondition for a run that names none of the kind.
std::vector<RangeRow> RowsByPlace(const TraceRun& run, ProgramPlace place, bool full_names, int step);

}  // namespace lanescope::traces
