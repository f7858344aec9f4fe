// SPDX-License-Identifier: Apache-2.0
// The rule that picks a queue's next command. The only implementation: executor and simulator both use it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/number_set.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// The ready ones of commands that are given with their ranks; of equal ranks the smaller number is first.
class ReadyHeap {
 public:
  void Push(int rank, CommandId command) {
    heap_.push_back((static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32) |
                    static_cast<uint32_t>(command.number()));
    if (heap_.size() > 1) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  bool empty() const { return heap_.empty(); }
  CommandId First() const { return CommandId(heap_.front() & 0xFFFFFFFFu); }
  void PopFirst() {
    if (heap_.size() > 1) std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }
  void Clear() { heap_.clear(); }
  // No Push fails while there are no more than so many.
  void Reserve(size_t commands) { heap_.reserve(commands); }

 private:
  std::vector<uint64_t> heap_;
};

// The ready ones of commands whose order is known beforehand, by their positions in it.
class ReadyPositions {
 public:
  // `order` must outlive the set.
  explicit ReadyPositions(const std::vector<CommandId>* order) : order_(order), positions_(order->size()) {}

  void Push(int position, CommandId) { positions_.Add(static_cast<size_t>(position)); }
  bool empty() const { return positions_.empty(); }
  CommandId First() const { return (*order_)[positions_.Least()]; }
  void PopFirst() { positions_.RemoveLeast(); }
  void Clear() { positions_.Clear(); }

 private:
  const std::vector<CommandId>* order_;
  NumberSet positions_;
};

// The ready commands of one queue. In order: hands out the queue's commands strictly by rank, so only when
// the next one is ready. Ready-first: hands out the ready command of the smallest rank. Either waits until as
// many workers are idle as the command keeps busy; no other passes it meanwhile, so that a large one gets its
// turn. Not thread-safe. `Ready` is one of the two above.
template <typename Ready>
class BasicReadyQueue {
 public:
  // `order`: for an in-order queue its command numbers by rank; null for ready-first. `workers`: as in Queue.
  // `commands`: of the schedule, read where there are several workers. Both must outlive the queue.
  explicit BasicReadyQueue(const std::vector<CommandId>* order = nullptr, int workers = 1,
                           const IdVector<CommandId, Command>* commands = nullptr, Ready ready = Ready())
      : ready_(std::move(ready)), order_(order), commands_(commands), workers_(workers), idle_(workers) {}

  void Push(int rank, CommandId command) { ready_.Push(rank, command); }
  void Reserve(size_t commands) { ready_.Reserve(commands); }
  // Whether Pop would hand out a command.
  bool CanPop() const { return !ready_.empty() && IsNext(ready_.First()); }
  // The next command to run, or none when none may run now. Its workers are taken until Done.
  CommandId Pop() {
    if (ready_.empty()) return {};
    const CommandId command = ready_.First();
    if (!IsNext(command)) return {};
    ready_.PopFirst();
    ++next_;
    idle_ -= Needs(command);
    return command;
  }
  void Done(CommandId command) { idle_ += Needs(command); }
  // Forgets everything; ready for the next step.
  void Reset() {
    ready_.Clear();
    next_ = 0;
    idle_ = workers_;
  }

 private:
  bool IsNext(CommandId first) const {
    return (order_ == nullptr || (*order_)[next_] == first) && Needs(first) <= idle_;
  }
  int Needs(CommandId command) const {
    return workers_ == 1 ? 1 : std::min(workers_, (*commands_)[command].workers);
  }

  Ready ready_;
  const std::vector<CommandId>* order_;
  const IdVector<CommandId, Command>* commands_;
  int workers_;
  int idle_;
  size_t next_ = 0;
};

using ReadyQueue = BasicReadyQueue<ReadyHeap>;

// The commands of every in-order queue by rank; an empty list for ready-first queues.
IdVector<QueueId, std::vector<CommandId>> QueueOrders(const Schedule& schedule);

}  // namespace lanescope
