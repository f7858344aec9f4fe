// SPDX-License-Identifier: Apache-2.0
// The work of host threads, as tasks. Internal to traces.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/replay/device_operations.h"
#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

struct HostTasks {
  // Thread by thread in the order of time; queues from `first_queue` on. Numbers are positions here.
  std::vector<ReplayTask> tasks;
  std::vector<ReplayQueue> queues;
  std::vector<int> of_call;     // by API call: the task; of a call inside another that of the outer one
  std::vector<int> after_call;  // by API call: what begins when it has returned; -1: it waits for nothing
  struct HandOver {
    int call = 0, task = 0;  // the API call after which the task begins
  };
  std::vector<HandOver> hand_overs;
};

// `waits`: by API call. Calls that wait take as long as those of their name that did not, at most.
HostTasks MakeHostTasks(const TraceRun& run, const std::vector<HostWait>& waits, int64_t begin_ns,
                        int first_queue, DeviceOperations* operations);

}  // namespace lanescope::traces
