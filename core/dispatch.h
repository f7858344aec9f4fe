// The rule that picks a queue's next command. The only implementation: executor and simulator both use it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/schedule.h"

namespace lanescope {

// The ready commands of one queue. In order: hands out the queue's commands strictly by rank, so only when
// the next one is ready. Ready-first: hands out the ready command of the smallest rank. Not thread-safe:
// owned by the queue's driver.
class ReadyQueue {
 public:
  // `order`: for an in-order queue its command numbers by rank; empty for ready-first. Must outlive the
  // queue.
  explicit ReadyQueue(const std::vector<int>* order = nullptr) : order_(order) {}

  void Push(int rank, int command) {
    heap_.push_back((static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32) |
                    static_cast<uint32_t>(command));
    if (heap_.size() > 1) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  // The next command to run, or -1 when none may run now.
  int Pop() {
    if (heap_.empty()) return -1;
    const int command = static_cast<int>(heap_.front() & 0xFFFFFFFFu);
    if (order_ != nullptr && (*order_)[next_] != command) return -1;
    if (heap_.size() > 1) std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    ++next_;
    return command;
  }
  bool empty() const { return heap_.empty(); }
  // Forgets everything; ready for the next step.
  void Reset() {
    heap_.clear();
    next_ = 0;
  }

 private:
  const std::vector<int>* order_;
  std::vector<uint64_t> heap_;
  size_t next_ = 0;
};

// The commands of every in-order queue by rank; an empty list for ready-first queues.
std::vector<std::vector<int>> QueueOrders(const Schedule& schedule);

}  // namespace lanescope
