// Traces of PyTorch's profiler (Kineto, Chrome trace format) as SQLite.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace lanescope::traces {

struct ImportCounts {
  int64_t kernels = 0, copies = 0, memsets = 0, api_calls = 0, ranges = 0;
  int64_t skipped = 0;  // events that lack what their kind needs
};

// Writes an export in the layout of Nsight Systems: kernels, copies, memory sets, API calls, and operators
// and annotations as NVTX ranges. Several files (the ranks of one job, one clock) go into one export, in
// which file n is the nth virtual machine; their devices keep their numbers. Time zero is the first event.
// Throws AlreadyExists when `out` is there, InvalidArgument for what is no such trace, DataLoss for damaged
// JSON, Cancelled soon after `*cancelled` became true (null: never), and leaves no file behind.
ImportCounts ImportKineto(const std::vector<std::string>& files, const std::string& out,
                          const std::atomic<bool>* cancelled = nullptr);

}  // namespace lanescope::traces
