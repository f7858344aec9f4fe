// Commands on their way from the queue that released them to the queue that will run them. Internal to sims.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/schedule/schedule.h"
#include "sims/ticks.h"

namespace lanescope::sims {

// Earliest first, ties by command number. Owned and used by one thread.
class HandoffHeap {
 public:
  void Push(Ticks time, CommandId command) {
    heap_.push_back({time, command});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  // kNever when there is none.
  Ticks EarliestTime() const { return heap_.empty() ? kNever : heap_.front().time; }
  // The command that arrives first.
  CommandId Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const CommandId command = heap_.back().command;
    heap_.pop_back();
    return command;
  }

 private:
  struct Handoff {
    Ticks time;
    CommandId command;
    bool operator>(const Handoff& other) const {
      return time != other.time ? time > other.time : command > other.command;
    }
  };
  std::vector<Handoff> heap_;
};

}  // namespace lanescope::sims
