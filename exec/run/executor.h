// SPDX-License-Identifier: Apache-2.0
// Runs loaded schedules in real time: a driver thread for every worker of every issue queue
// (core/schedule/issue_plan.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/record/input_log.h"
#include "core/record/recorder.h"
#include "exec/messages/pacer.h"
#include "exec/run/loaded_schedule.h"
#include "exec/run/step_state.h"
#include "exec/run/step_times.h"

namespace lanescope::exec {

// Where what happens in a step is written.
struct StepTrace {
  Recorder* recorder = nullptr;
  int schedule = 0;  // number of the schedule in the run's trace
  int step = 0;
  InputLog* waits = nullptr;  // null: waits are not recorded
  int thread = kNoInputThread;
  int waiting_step = 0;   // as the log numbers it
  bool recorded = false;  // its length is, whether or not its commands are timed
};

// Owns the driver threads, which sleep between steps. One step at a time; Run is called by one thread at a
// time. A launch that waits for other steps (WaitingKernel) leaves its driver to the others of its queue; in
// an in-order queue it keeps its place.
class Executor {
 public:
  explicit Executor(const Machine& machine);
  ~Executor();

  // Runs every command once. `timeout_ns` 0: none. `stop`: null, or what anyone sets to end the step. Throws
  // the first error of a command, DeadlineExceeded or Cancelled; nothing is left running then.
  StepTimes Run(LoadedSchedule* loaded, StepState* state, int64_t timeout_ns, const StepTrace& trace,
                const std::atomic<bool>* stop = nullptr);
  // The recorder of earlier runs is not touched again.
  void ForgetRecorder();
  // Ends the step that runs now, from any thread or signal handler.
  void Cancel() { interrupted_.store(true, std::memory_order_relaxed); }
  // Whether the next step, or the one that runs now, has to end.
  bool TakeInterrupt() { return interrupted_.exchange(false, std::memory_order_relaxed); }
  // From any thread or signal handler.
  bool is_running() const {
    return is_running_.load(std::memory_order_relaxed) || awaits_others_.load(std::memory_order_relaxed);
  }
  // While one lives, the step runs on in other processes: whoever has run its part here asks
  // TakeInterrupt() and ends it.
  class AwaitsOthers {
   public:
    explicit AwaitsOthers(Executor* executor) : executor_(*executor) { executor_.awaits_others_.store(true); }
    ~AwaitsOthers() { executor_.awaits_others_.store(false); }
    AwaitsOthers(const AwaitsOthers&) = delete;
    AwaitsOthers& operator=(const AwaitsOthers&) = delete;

   private:
    Executor& executor_;
  };

 private:
  struct Driver {
    std::atomic<uint32_t> steps{0};  // begun so far; the driver sleeps until it grows
    size_t queue = 0;                // of the step in progress
    Thread thread;
    EventRing* ring = nullptr;
  };

  void DriverLoop(Driver* driver);
  void WaitUntilDone(int64_t start_ns, int64_t timeout_ns, const std::atomic<bool>* stop, bool* interrupted,
                     bool* expired, std::string* awaited);
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
  void NoteWait(CommandId unit, WaitingKernel* kernel, int64_t since_ns);
  void NoteThatItWaits(WaitingKernel* kernel, int attempt);
  std::string Awaited();
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
  StepTrace trace_;
  const IssuePlan* plan_ = nullptr;
  std::atomic<int64_t> messaging_ns_{0};
  std::atomic<int> spins_{0};  // before a driver sleeps
  std::atomic<int> running_drivers_{0};
  std::atomic<int64_t> end_ns_{0};
  std::atomic<bool> cancelled_{false};  // commands that have not started are skipped, others end soon
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> is_running_{false};
  std::atomic<bool> awaits_others_{false};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<Error> error_;
  std::string awaited_;  // the message that the step still waited for when it had to end
  std::mutex waiting_mutex_;
  struct Waiting {
    WaitingKernel* kernel;
    int64_t since_ns;
    int attempt = 0;     // resumed so often
    bool waits = false;  // no driver works on it
  };
  std::vector<Waiting> waiting_;  // launches that may wait now
};

}  // namespace lanescope::exec
