// SPDX-License-Identifier: Apache-2.0
// Waits of a run's steps for input, and the threads that fill the queues they wait for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/record/input_record.h"

namespace lanescope {
struct Interval;
}

namespace lanescope::traces {

struct DeviceIntervals;
struct TraceNode;

// All within the window; shares of it.
struct QueueUse {
  std::string name;        // "queue 'examples'", "reader 'lines'"
  int64_t capacity = -1;   // -1: as many as come, or no queue
  int64_t kept = 0;        // elements that it gives away only once it is closed
  double mean_fill = -1;   // elements, by time; -1: nobody looked
  int64_t starved_ns = 0;  // a step of the run waits for it
  int64_t full_ns = 0;     // a thread waits for room in it
  int threads = 0;         // that put elements into it
};

struct InputThreadUse {
  std::string op, queue;
  int64_t steps = 0;       // that ended in the window
  double step_ns = 0;      // mean of these, from start to end
  double work_ns = 0;      // the same without waiting: what each costs
  int64_t waited_ns = 0;   // for elements or a turn
  int64_t blocked_ns = 0;  // for room
};

struct InputUse {
  int64_t window_ns = 0;
  int devices = 0;      // GPUs, or hosts where there are none
  int64_t wait_ns = 0;  // a step of the run waits and nothing runs on a device: mean over the devices
  std::vector<QueueUse> queues;
  std::vector<InputThreadUse> threads;
  std::string verdict;  // one sentence

  double wait_share() const {
    return window_ns > 0 ? static_cast<double>(wait_ns) / static_cast<double>(window_ns) : 0;
  }
};

// `nodes`: of the run, by id. `devices`: that are waiting, as `names` calls them together ("GPU:0"). Nothing
// for a run whose steps and threads never waited and that has no threads.
std::optional<InputUse> FindInputUse(const InputRecord& input, std::span<const TraceNode> nodes,
                                     std::span<const DeviceIntervals> devices, const std::string& names,
                                     std::span<const Interval> windows);

// As a part of the summary.
std::string InputUseText(const InputUse& use, int width);

}  // namespace lanescope::traces
