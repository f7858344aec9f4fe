// Traces of PyTorch's profiler (Kineto, Chrome trace format) as SQLite.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lanescope::traces {

struct ImportCounts {
  int64_t kernels = 0, copies = 0, memsets = 0, api_calls = 0, ranges = 0, synchronizations = 0, memory = 0;
  int64_t skipped = 0;                      // events that lack what their kind needs
  std::map<std::string, int64_t> left_out;  // events of kinds that have no place here, by category
};

// Writes an export in the layout of Nsight Systems: kernels, copies, memory sets, API calls,
// synchronisations, and operators and annotations as NVTX ranges, and memory over time. Several files (the
// ranks of one job, one clock) go into one export, in which file n is the nth virtual machine. The devices of
// each are GPUs of their own: they keep their numbers where no other file has those, and their models say
// whose they are ("NVIDIA A100, rank 3"). Time zero is the first event. Throws AlreadyExists when `out` is
// there, InvalidArgument for what is no such trace and for two files of one rank (a file that is named twice,
// too), DataLoss for damaged JSON, Cancelled soon after `*cancelled` became true (null: never), and leaves no
// file behind.
ImportCounts ImportKineto(const std::vector<std::string>& files, const std::string& out,
                          const std::atomic<bool>* cancelled = nullptr);

}  // namespace lanescope::traces
