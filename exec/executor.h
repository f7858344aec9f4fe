// Runs loaded schedules in real time: one driver thread per queue.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/recorder.h"
#include "exec/loaded_schedule.h"
#include "exec/pacer.h"

namespace lanescope::exec {

struct StepTimes {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// A step's bookkeeping: how many dependencies each command still waits for, and the commands that became
// ready for another queue. Invariants: waiting is decremented once per predecessor; whoever brings it to
// zero hands c to its queue; a queue's ready heap and remaining count belong to its driver alone; inboxes are
// stacks that any driver pushes to and only the owner empties; an owner that found nothing to do marks its
// empty inbox as asleep and sleeps until a push changes it.
class StepState {
 public:
  explicit StepState(const Schedule& schedule);
  void Reset();

 private:
  friend class Executor;
  static constexpr int kEmpty = -1;
  static constexpr int kAsleep = -2;
  struct alignas(64) QueueState {
    std::atomic<int> inbox{kEmpty};  // top of the stack of ready commands, linked by next
    ReadyQueue ready;
    int commands = 0;  // in all
    int remaining = 0;
  };
  const Schedule& schedule_;
  std::vector<std::vector<int>> orders_;
  std::vector<int> sources_;  // commands without dependencies
  // What completing a predecessor needs of a command, together in one place.
  struct alignas(16) CommandState {
    std::atomic<int> waiting{0};  // for so many predecessors; left alone where there is only one
    std::atomic<int> next{0};     // in an inbox
    int queue = 0;
    bool single = false;  // has one predecessor
  };
  std::unique_ptr<CommandState[]> commands_;
  std::vector<std::unique_ptr<QueueState>> queues_;
};

// Owns the driver threads, which sleep between steps. One step at a time; Run is called by one thread at a
// time.
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

 private:
  struct Driver {
    std::atomic<uint32_t> steps{0};  // begun so far; the driver sleeps until it grows
    std::thread thread;
    EventRing* ring = nullptr;
  };

  void DriverLoop(Driver* driver, size_t index);
  void WaitUntilDone(int64_t start_ns, int64_t timeout_ns, bool* interrupted, bool* expired);
  void Drive(size_t queue, EventRing* ring);
  void RunOne(int command, EventRing* ring);
  void Complete(int command, size_t queue);
  int TakeReady(StepState::QueueState* queue);
  void WaitForWork(StepState::QueueState* queue);
  void HandOver(int command, StepState::QueueState* queue);
  void Fail(std::exception_ptr error);
  void MakeDrivers(size_t count, Recorder* recorder);

  Pacer pacer_;
  std::vector<std::unique_ptr<Driver>> drivers_;
  Recorder* recorder_ = nullptr;

  // The step in progress: written by Run before the drivers' `steps` grow, read by the drivers.
  LoadedSchedule* loaded_ = nullptr;
  StepState* state_ = nullptr;
  Trace trace_;
  std::atomic<int> running_queues_{0};
  std::atomic<int64_t> end_ns_{0};
  std::atomic<bool> cancelled_{false};  // commands that have not started are skipped
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable done_;
  std::exception_ptr error_;
};

}  // namespace lanescope::exec
