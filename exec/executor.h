// Runs loaded schedules in real time: a driver thread for every worker of every issue queue
// (exec/issue_plan.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/record/recorder.h"
#include "core/schedule/dispatch.h"
#include "exec/loaded_schedule.h"
#include "exec/pacer.h"

namespace lanescope::exec {

struct StepTimes {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

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
    // Of such a queue: grows when there may be something to do. A driver reads it before it looks, and sleeps
    // only as long as it has not grown since.
    alignas(64) std::atomic<uint32_t> news{0};
    // Set by a driver that found nothing to do before it looks at its logs a last time; a sender looks here
    // after its Send. Both are sequentially consistent, so that one of the two sees the other.
    alignas(64) std::atomic<int> asleep{0};
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
  // What completing a predecessor needs of a unit, together in one place. By command.
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

// Owns the driver threads, which sleep between steps. One step at a time; Run is called by one thread at a
// time. A launch that waits for other steps (WaitingKernel) leaves its driver to the others of its queue; in
// an in-order queue it keeps its place.
class Executor {
 public:
  explicit Executor(const Machine& machine);
  ~Executor();

  struct Trace {
    Recorder* recorder = nullptr;
    int schedule = 0;  // number of the schedule in the run's trace
    int step = 0;
  };
  // Runs every command once. `timeout_ns` 0: none. Throws the first error of a command, DeadlineExceeded or
  // Cancelled; nothing is left running then.
  StepTimes Run(LoadedSchedule* loaded, StepState* state, int64_t timeout_ns, const Trace& trace);
  // The recorder of earlier runs is not touched again.
  void ForgetRecorder();
  // Ends the step that runs now, from any thread or signal handler.
  void Cancel() { interrupted_.store(true, std::memory_order_relaxed); }
  Pacer& pacer() { return pacer_; }
  // Whether the next step, or the one that runs now, has to end.
  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }
  // From any thread or signal handler.
  bool is_running() const { return is_running_.load(std::memory_order_relaxed); }

 private:
  struct Driver {
    std::atomic<uint32_t> steps{0};  // begun so far; the driver sleeps until it grows
    size_t queue = 0;                // of the step in progress
    std::thread thread;
    EventRing* ring = nullptr;
  };

  void DriverLoop(Driver* driver);
  void WaitUntilDone(int64_t start_ns, int64_t timeout_ns, bool* interrupted, bool* expired);
  void Drive(size_t queue, EventRing* ring);
  void DriveAlone(size_t queue, EventRing* ring);
  void DriveTogether(size_t queue, EventRing* ring);
  void DriveMessages(size_t queue, EventRing* ring);
  void Wake(StepState::QueueState* queue, bool all);
  bool RunOne(CommandId unit, size_t queue, EventRing* ring);
  void RunNow(CommandId unit, EventRing* ring);
  bool RunWaiting(CommandId unit, size_t queue, bool resumed, EventRing* ring);
  void Resume(CommandId unit, StepState::QueueState* queue);
  CommandId TakeResumed(StepState::QueueState* queue);
  void CancelWaiting();
  void Complete(CommandId unit, size_t queue);
  CommandId TakeReady(StepState::QueueState* queue);
  void WaitForWork(StepState::QueueState* queue);
  void HandOver(CommandId unit, size_t from, int to);
  int64_t FinishStreams(EventRing* ring);
  void Fail();  // with the exception in flight
  void MakeDrivers(size_t count, Recorder* recorder);

  Pacer pacer_;
  std::vector<std::unique_ptr<Driver>> drivers_;
  Recorder* recorder_ = nullptr;

  // The step in progress: written by Run before the drivers' `steps` grow, read by the drivers.
  LoadedSchedule* loaded_ = nullptr;
  StepState* state_ = nullptr;
  Trace trace_;
  const IssuePlan* plan_ = nullptr;
  std::atomic<int> running_drivers_{0};
  std::atomic<int64_t> end_ns_{0};
  std::atomic<bool> cancelled_{false};  // commands that have not started are skipped, others end soon
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> is_running_{false};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable done_;
  std::exception_ptr error_;
  std::string awaited_;  // what the step still waited for when it had to end
  std::mutex waiting_mutex_;
  std::vector<WaitingKernel*> waiting_;  // launches that may wait now
};

}  // namespace lanescope::exec
