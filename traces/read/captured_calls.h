// SPDX-License-Identifier: Apache-2.0
// Which call recorded a node of a CUDA graph that ran. Internal to traces and gui.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// A graph launch is compared with what each stream capture of its process recorded: kernels, copies
// and memory sets in the order of the calls. Nodes are in the order of their ids, and without ids in that of
// their starts. A launch is joined where every node is of the kind that the capture has at its place, and of
// that name where the trace says which kernel a call launches. Without ids and without names only nodes of
// one stream have a sure order. Several captures that fit belong to the executable graphs in the order of
// their ids, where there are as many; else they must have recorded it in ranges of the same texts. What fits
// none is not joined. Immutable.
class CapturedCalls {
 public:
  CapturedCalls() = default;  // of a run without captures
  // The run's calls, and their ranges, are read.
  CapturedCalls(Database& database, const TraceRun& run);

  static constexpr int64_t kAnyStream = -1;
  // By the launch of the graph, an index into the run's calls, the call that recorded what began then on that
  // stream; -1: not known.
  int Find(int launch, int64_t start_ns, int64_t stream) const;
  // Launches of graphs whose nodes are known, and those where they are not.
  int64_t joined() const { return joined_; }
  int64_t unjoined() const { return unjoined_; }

 private:
  struct Node {
    int launch = -1;
    int64_t start_ns = 0, stream = 0;
    int call = -1;
  };
  std::vector<Node> nodes_;  // sorted
  int64_t joined_ = 0, unjoined_ = 0;
};

}  // namespace lanescope::traces
