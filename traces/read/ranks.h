// SPDX-License-Identifier: Apache-2.0
// The rank and the machine of the processes of another tool's trace. Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// The ranks of an import whose files say them, or the machine of an export of Nsight Systems; by file.
std::vector<TraceRank> ReadRanks(Database& database);

// Ranks of MPI by globalPid.
std::map<int64_t, int> ReadMpiRanks(Database& database);

}  // namespace lanescope::traces
