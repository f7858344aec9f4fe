// SPDX-License-Identifier: Apache-2.0
// Plays the messages and the work of a collective through virtual time. Internal to core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "core/machine/device_queues.h"
#include "core/machine/machine.h"
#include "core/time/fair_share.h"
#include "core/time/link_paths.h"
#include "core/time/ticks.h"
#include "core/time/timer_tree.h"

namespace lanescope {

// A message or work.
struct CollectiveStep {
  DeviceQueue queue;
  Ticks alone = 0;                 // how long it takes alone
  int workers = 1;                 // of its queue that it keeps busy
  int path = LinkPaths::kNone;     // of a message
  int64_t bytes = 0;               // of a message
  std::vector<size_t> after = {};  // steps, all before it
};

// By the laws of the simulator: a queue runs as many steps at once as it has workers, of those that are ready
// the first; a message takes its latency, then its bytes share the links with all that pass them, max-min
// fair. All ends of one instant come before queues pick. What orders commands strictly, and all effects that
// calibration finds, are not known here.
class CollectiveLoop {
 public:
  // All must outlive it.
  CollectiveLoop(const Machine& machine, const LinkPaths& links, std::span<const CollectiveStep> steps);

  // When the last step ends. Once.
  Ticks Run();

 private:
  // Runs one step at a time.
  struct Server {
    size_t step = 0;
    bool waits = false;  // for the end of a latency, before its bytes flow
    bool flows = false;
  };
  struct Queue {
    int free_workers = 0;
    std::vector<int> idle;   // servers
    std::set<size_t> ready;  // steps
  };

  Queue& QueueOf(size_t step) { return queues_.at(steps_[step].queue); }
  void MakeReady(size_t step);
  void Pick();
  void Start(int server, size_t step);
  void Expire(int server);
  void End(int server);
  void Share();

  const LinkPaths& links_;
  const std::span<const CollectiveStep> steps_;
  std::vector<std::vector<size_t>> next_;  // by step: those after it
  std::vector<size_t> missing_;            // by step: of those before it
  std::map<DeviceQueue, Queue> queues_;
  std::set<DeviceQueue> touched_;  // that may pick
  std::vector<Server> servers_;
  Ticks now_ = 0;
  FairShare sharing_;
  TimerTree timers_;
};

}  // namespace lanescope
