// Which kernels of NCCL on different GPUs are parts of one collective. Internal to traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// The GPUs on which something ran, ascending.
std::vector<int> WorkingGpus(const TraceRun& run);

// The nth kernel of a name on each of the working GPUs, where all have the same number of them: indexes into
// the run's launches, in the order of WorkingGpus. None where there is one GPU.
std::vector<std::vector<int>> FindCollectives(const TraceRun& run);

// "AllReduce" for "allreduce_coalesced" and "ncclDevKernel_AllReduce_Sum_f32"; the name itself where it says
// no kind.
std::string CollectiveKind(std::string_view name);

// As nccl-tests has it: what a link must carry of a byte of the message. Empty: no such rule.
std::optional<double> BusFactor(std::string_view kind, int64_t ranks);

}  // namespace lanescope::traces
