// SPDX-License-Identifier: Apache-2.0
// The cost of launches, one by one and as a graph.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lanescope::traces {

// The time that usually passes, in ns: of the trace where it says so, else of GPUs like its.
struct LaunchTimes {
  int64_t call_ns = 0;     // that launches one operation
  int64_t latency_ns = 0;  // from such a call to the start on an idle stream
  int64_t gap_ns = 0;      // between two kernels of a stream
  int64_t back_ns = 0;     // from the end of what a thread waits for until it goes on
  // Inside a graph: between two kernels, from a kernel to another node, and from that to a kernel.
  int64_t node_gap_ns = 0, before_other_ns = 0, after_other_ns = 0;

  // A call that launches a graph takes so much longer than one of a kernel, and what it launches begins as
  // much later.
  static int64_t GraphNs(int64_t nodes);
  int64_t NodeGap(bool after_kernel, bool kernel) const {
    return !after_kernel ? after_other_ns : kernel ? node_gap_ns : before_other_ns;
  }
};

// Figures of a GPU by its model ("NVIDIA H100 80GB HBM3"), of those of which nothing is known the most
// cautious:
//   H100, H200, GH200   kernels 0.1 and 0.27 us (medians of 370 and 57 pairs in recordings of two programs
//                       that are not among the pairs of docs/results/accuracy.md); 0.9 us to a memset,
//                       6.0 after it
//   MI300X              0: graphs of vLLM and SGLang, 962 pairs
//   others              0.5: NVIDIA, "Getting Started with CUDA Graphs": 3.4 us for kernels of 2.9 on a V100
LaunchTimes LaunchTimesOf(std::string_view model);

// The figures that a trace shows.
struct LaunchSamples {
  std::vector<int64_t> calls, latencies, gaps, backs;
  std::vector<int64_t> node_gaps, before_others, after_others;

  // Its own figures where there are enough samples.
  LaunchTimes Settle(std::string_view model) const;
};

}  // namespace lanescope::traces
