// SPDX-License-Identifier: Apache-2.0
// The clocks of a job's files. Internal to traces.
#pragma once

#include <vector>

#include "traces/import/import_trace.h"
#include "traces/import/import_workers.h"

namespace lanescope::traces {

// Sets by how much the clock of each file is ahead of the first file's (ImportTrace::clock_ahead_ns). Nothing
// but what files have in common tells: NCCL's kernels (the nth of a name and process group in each), of which
// no part can end before another begins, else steps of one number. Where most of them lie apart, and all by
// as much, the clocks differ; where they do not, files keep their times. The files of a worker have one
// clock.
void FindClocks(const std::vector<ImportWorker>& workers, std::vector<ImportTrace>* traces);

}  // namespace lanescope::traces
