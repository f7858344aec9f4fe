// SPDX-License-Identifier: Apache-2.0
// The state of a step in progress: dependencies still open, and units on their way between queues.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/schedule/dispatch.h"
#include "exec/run/loaded_schedule.h"

namespace lanescope::exec {

// The commands that one driver hands to another in a step. One sender, one receiver. Every hand-over has a
// slot of its own, so the receiver writes nothing that the sender reads and a hand-over moves one cache line
// between their cores.
class HandoverLog {
 public:
  explicit HandoverLog(size_t capacity);
  void Reset();
  // The sender's side. Sequentially consistent, see StepState::QueueState::asleep.
  void Send(CommandId command) { slots_[sent_++].store(command.number(), std::memory_order_seq_cst); }
  // The receiver's side: the next command, or none when none has been sent. What the sender did before Send
  // is visible then.
  CommandId Receive() {
    const CommandId command(slots_[received_].load(std::memory_order_acquire));
    if (command.exists()) ++received_;
    return command;
  }
  bool HasMore() const { return slots_[received_].load(std::memory_order_seq_cst) >= 0; }

 private:
  std::vector<std::atomic<int>> slots_;  // -1: not sent yet; the last one stays so
  alignas(64) size_t sent_ = 0;
  alignas(64) size_t received_ = 0;
};

// A step's bookkeeping: how many dependencies each unit of the plan still waits for, and the units that
// became ready for another queue. Invariants: waiting is decremented once per predecessor; whoever brings it
// to zero hands the unit to its queue; a queue's ready heap, remaining count and ends of logs belong to its
// driver, or where it has several to the one that holds its mutex. Refers to the loaded schedule's plan.
class StepState {
 public:
  explicit StepState(const LoadedSchedule& loaded);
  void Reset();

 private:
  friend class Executor;
  struct alignas(64) QueueState {
    ReadyQueue ready;
    int units = 0;  // in all
    int remaining = 0;
    std::vector<HandoverLog*> from;  // those that bring units to this queue
    std::vector<HandoverLog*> to;    // by receiving queue; null where no unit depends on this queue
    int workers = 1;
    std::mutex mutex;  // of a queue with several drivers
    // Such a queue's counter: grows when there may be work. A driver reads it before it looks, and sleeps
    // only as long as it has not grown since.
    alignas(64) std::atomic<uint32_t> news{0};
    // Set by a driver that found nothing to do before it looks at its logs a last time; a sender looks here
    // after its Send. Both are sequentially consistent, so that one of the two sees the other.
    alignas(64) std::atomic<uint32_t> asleep{0};
    // Units that waited and can go on. Whoever lets them (a thread of another step, as a rule) holds the
    // mutex until it is done with this queue, and the driver takes them under it: so the step cannot end
    // meanwhile.
    std::mutex resumed_mutex;
    std::vector<CommandId> resumed;
    std::atomic<int> num_resumed{0};
  };
  void MakeLogs();

  const Schedule& schedule_;
  const IssuePlan& plan_;
  std::vector<CommandId> sources_;  // units without dependencies
  // The state of a unit that completing a predecessor needs, together in one place. By command.
  struct UnitState {
    std::atomic<int> waiting{0};  // for so many predecessors; left alone where there is only one
    int queue : 31 = 0;
    unsigned single : 1 = 0;  // has one predecessor
  };
  std::unique_ptr<UnitState[]> units_;
  std::vector<std::unique_ptr<QueueState>> queues_;
  std::vector<size_t> queue_of_driver_;
  std::vector<std::unique_ptr<HandoverLog>> logs_;
};

}  // namespace lanescope::exec
