// SPDX-License-Identifier: Apache-2.0
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

struct Collective {
  std::vector<int> parts;  // indexes into the run's launches, two or more, by device
  int64_t ranks = 0;       // that take part, in the trace or not: as it says, else as many as there are parts
};

// The nth kernel of a name and process group on each of the GPUs that have it, where all of these have as
// many of them, in the run, else in the step; where they do not, those that end together. Kernels
// that never run at the same time are no collective, and a message that is sent has two ends.
std::vector<Collective> FindCollectives(const TraceRun& run);

// "AllReduce" for "allreduce_coalesced" and "ncclDevKernel_AllReduce_Sum_f32"; the name itself where it says
// no kind.
std::string CollectiveKind(std::string_view name);

// As nccl-tests has it: what a link must carry of a byte of the message. Empty: no such rule.
std::optional<double> BusFactor(std::string_view kind, int64_t ranks);

}  // namespace lanescope::traces
