// SPDX-License-Identifier: Apache-2.0
// The tasks of a run of ours: which devices are whose, and which process played them. Internal to traces.
#pragma once

#include <vector>

#include "core/record/run_task.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// Gives devices whose names are of several tasks their TraceDevice::task.
void NumberTasks(std::vector<TraceDevice>* devices);

// TraceReader::Tasks. `devices`: numbered.
std::vector<RunTask> ReadTasks(Database& database, int run, const std::vector<TraceDevice>& devices);

}  // namespace lanescope::traces
