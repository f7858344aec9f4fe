// Which kernels of NCCL on different GPUs are parts of one collective. Internal to traces.
#pragma once

#include <vector>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// The GPUs on which something ran, ascending.
std::vector<int> WorkingGpus(const TraceRun& run);

// The nth kernel of a name on each of the working GPUs, where all have the same number of them: indexes into
// the run's launches, in the order of WorkingGpus. None where there is one GPU.
std::vector<std::vector<int>> FindCollectives(const TraceRun& run);

}  // namespace lanescope::traces
