// SPDX-License-Identifier: Apache-2.0
// Of which rank of a job, and on which machine, processes of another tool's trace ran. Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// Of an import whose files say it, or the machine of an export of Nsight Systems; by file.
std::vector<TraceRank> ReadRanks(Database& database);

// Ranks of MPI by globalPid.
std::map<int64_t, int> ReadMpiRanks(Database& database);

}  // namespace lanescope::traces
