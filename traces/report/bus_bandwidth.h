// SPDX-License-Identifier: Apache-2.0
// The bandwidths of collectives, in the terms of nccl-tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lanescope::traces {

struct TraceRun;

// Collectives of one kind, size and number of ranks.
struct CollectiveRow {
  std::string kind;                         // "AllReduce"
  int64_t ranks = 0, bytes = 0, count = 0;  // bytes: of one; 0: the trace does not say
  int64_t ns = 0;                           // that they took together
  // The trace lacks ranks: what was waited for them is in the time, and bandwidths are at least these.
  bool waits = false;
  double algorithm_bandwidth = 0, bus_bandwidth = 0;  // bytes per second, of all together
};

// By time, longest first. Of a collective that all its ranks' GPUs are there for, the shortest part is the
// transfer; it counts once. None where the trace does not say what its collectives move.
std::vector<CollectiveRow> FindCollectiveRows(const TraceRun& run);

}  // namespace lanescope::traces
