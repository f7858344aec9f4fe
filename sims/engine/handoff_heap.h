// SPDX-License-Identifier: Apache-2.0
// Commands on their way from the queue that released them to the queue that will run them. Internal to sims.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/time/ticks.h"

namespace lanescope::sims {

// Earliest first, ties by command number. Owned and used by one thread.
class HandoffHeap {
 public:
  struct Handoff {
    Ticks time;
    CommandId command;
    bool wakes;  // a driver that slept
    bool operator>(const Handoff& other) const {
      return time != other.time ? time > other.time : command > other.command;
    }
  };

  void Push(const Handoff& handoff) {
    heap_.push_back(handoff);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  // kNever when there is none.
  Ticks EarliestTime() const { return heap_.empty() ? kNever : heap_.front().time; }
  // The command that arrives first.
  Handoff Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Handoff handoff = heap_.back();
    heap_.pop_back();
    return handoff;
  }

 private:
  std::vector<Handoff> heap_;
};

}  // namespace lanescope::sims
