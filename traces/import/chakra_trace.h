// Chakra execution traces of MLCommons (.et). Internal to traces.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Nodes that say when they ran: what is no op of a processor becomes a kernel or copy of GPU 0, collectives
// kernels of NCCL; ops of processors become ranges. The file's number (JOB.3.et) is its rank. Throws
// InvalidArgument for a trace without times (recorded before execution, or made), DataLoss, Cancelled.
ImportTrace ReadChakra(const std::string& bytes, const std::string& path, const std::atomic<bool>* cancelled);

}  // namespace lanescope::traces
