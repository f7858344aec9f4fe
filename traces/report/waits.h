// SPDX-License-Identifier: Apache-2.0
// Waits of devices and streams: for the host, each other, other ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/report/bus_bandwidth.h"
#include "traces/report/link_rate.h"

namespace lanescope::traces {

struct TraceRun;
class TraceReader;

// Times of one GPU, over the steps, or without steps from its first to its last activity:
//   window = compute + exposed + idle, idle = in_calls + host + for_streams + queued + edges.
struct DeviceWaits {
  int device = 0;
  std::string label, model;
  std::string host;  // the machine that it is in; empty: the trace does not say
  int64_t window_ns = 0, compute_ns = 0, exposed_ns = 0, hidden_ns = 0, idle_ns = 0;
  // Idle until something started whose call began after the device had become idle: while that thread was in
  // API calls (the launches themselves take too long), and while it was not (the host does other things).
  int64_t in_calls_ns = 0, host_ns = 0;
  // Idle though the next was launched already: shortly after the last operation before, which was on another
  // stream (by times alone), and else.
  int64_t for_streams_ns = 0, queued_ns = 0;
  int64_t edges_ns = 0;  // before the first and after the last activity of the window
  // Times of NCCL's kernels that several GPUs have (the nth of a name and process group on each): the
  // shortest is taken for the transfer, what one lasts longer for waiting until the last has come.
  int64_t collectives = 0, transfer_ns = 0, waiting_ns = 0;
  int64_t for_ranks_ns = 0;  // that waiting, where nothing else runs: exposed, and idle in truth
  int64_t last = 0;          // how many of them this GPU was the last to start
};

// Times of one stream. The gap before an operation counts as HolisticTraceAnalysis has it: for the host where
// its call began after the operation before it had ended, else for the kernel where it is below 30 us, else
// for others.
struct StreamWaits {
  int device = 0;
  std::string label;
  int stream = 0;
  std::string name;  // as the profiler calls it; empty: it does not
  int64_t operations = 0, busy_ns = 0;
  int64_t host_ns = 0, kernel_ns = 0, other_ns = 0;
  // The part of other_ns until shortly after an operation of another stream of the GPU had ended, by times
  // alone; for ranks where that was a collective.
  int64_t for_streams_ns = 0, for_ranks_ns = 0;
  // From the end of the call to the start of what it launched; of those whose call is recorded.
  int64_t launched = 0, mean_delay_ns = 0, max_delay_ns = 0;
  // Operations that were launched and had not begun.
  int64_t max_queue = 0;
};

struct Straggler {
  int step = -1;
  std::string label;  // the GPU for which the others waited most in the step's collectives
  int64_t collectives = 0, of = 0, others_waited_ns = 0;
};

struct Waits {
  std::vector<DeviceWaits> devices;
  std::vector<StreamWaits> streams;
  std::vector<CollectiveRow> collectives;
  LinkRate link;                      // what collectives have at most on the bus
  double peer_copy_bandwidth = 0;     // the best that a large copy between GPUs reached (bytes per second)
  std::vector<Straggler> stragglers;  // by step; none where the GPUs have no collectives in common
  // Collectives of which the trace has some ranks only: what those here waited for the others counts as
  // transfer.
  int64_t partial = 0;
  std::string verdict;  // "launch-bound: GPU:0 waits for 69% of its idle time for the host"
};

// `link`: as somebody who knows says it; without a rate it is as the trace says it.
Waits FindWaits(const TraceRun& run, const LinkRate& link = {});
// Finds them in a run that is read on the way into `run`, of which it keeps API calls, kernels of NCCL and
// large copies between GPUs.
Waits FindWaits(TraceReader& reader, int number, const LinkRate& link, TraceRun* run);
// `width`: the columns of a line; 0: any.
std::string WaitsText(const Waits& waits, int width);

}  // namespace lanescope::traces
