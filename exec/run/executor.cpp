// SPDX-License-Identifier: Apache-2.0
#include "exec/run/executor.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/futex.h"
#include "core/base/thread.h"
#include "exec/run/message_progress.h"
#include "exec/stream/stream_program.h"

namespace lanescope::exec {
namespace {

// Spinning this long catches a hand-off between busy devices; longer would take the core from a device that
// works. In between the core is offered to others: the driver that is waited for may share it. Where the
// processes of a job have more drivers than the computer has cores there is always one that works.
constexpr int kSpins = 400;
constexpr int kSpinsBeforeYield = 64;

void Relax(int spin) {
  if (spin % kSpinsBeforeYield == kSpinsBeforeYield - 1) {
    std::this_thread::yield();
  } else {
    __builtin_ia32_pause();
  }
}

// False: it has not come in so many spins.
template <typename Come>
bool SpinUntil(const std::atomic<int>& spins, Come come) {
  for (int spin = 0; spin < spins.load(std::memory_order_relaxed); ++spin) {
    if (come()) return true;
    Relax(spin);
  }
  return false;
}

class RunningFlag {
 public:
  explicit RunningFlag(std::atomic<bool>* flag) : flag_(flag) { flag_->store(true); }
  ~RunningFlag() { flag_->store(false); }
  RunningFlag(const RunningFlag&) = delete;
  RunningFlag& operator=(const RunningFlag&) = delete;

 private:
  std::atomic<bool>* const flag_;
};

// Whether the workers that a unit took are free now: it gives them back when it begins to wait (but in an
// in-order queue, whose place it keeps), or is complete without having waited.
bool FreesWorkers(bool resumed, bool complete, bool in_order) { return in_order ? complete : !resumed; }

int SpinsOf(LoadedSchedule* loaded) {
  MessageProgress* const messages = loaded->messages();
  if (messages == nullptr || !messages->transport()->IsOneComputer()) return kSpins;
  const auto queues = static_cast<unsigned>(loaded->plan().queues.size());
  const auto processes = static_cast<unsigned>(messages->transport()->size());
  return queues * processes > std::thread::hardware_concurrency() ? 0 : kSpins;
}

}  // namespace

Executor::Executor(const Machine& machine) : pacer_(machine) {}

Executor::~Executor() {
  stop_.store(true, std::memory_order_relaxed);
  for (auto& driver : drivers_) {
    driver->steps.fetch_add(1, std::memory_order_release);
    driver->steps.notify_one();
  }
  for (auto& driver : drivers_) driver->thread.Wait();
}

void Executor::ForgetRecorder() {
  recorder_ = nullptr;
  for (auto& driver : drivers_) driver->ring = nullptr;
}

void Executor::MakeDrivers(size_t count, Recorder* recorder) {
  while (drivers_.size() < count) {
    auto driver = std::make_unique<Driver>();
    drivers_.reserve(count);  // nothing may fail once the thread runs
    driver->thread = Thread("a queue of a device", [this, self = driver.get()] { DriverLoop(self); });
    drivers_.push_back(std::move(driver));
  }
  if (recorder == nullptr) return;
  if (recorder != recorder_) ForgetRecorder();
  recorder_ = recorder;
  for (size_t i = 0; i < count; ++i) {
    if (drivers_[i]->ring == nullptr) drivers_[i]->ring = recorder->NewRing();
  }
}

StepTimes Executor::Run(LoadedSchedule* loaded, StepState* state, int64_t timeout_ns, const StepTrace& trace,
                        const std::atomic<bool>* stop) {
  StepTimes times;
  const RunningFlag running(&is_running_);
  const size_t drivers = state->queue_of_driver_.size();
  state->Reset();
  MakeDrivers(drivers, trace.recorder);
  if (loaded->program() != nullptr)
    loaded->program()->BeginStep({trace.schedule, trace.step, trace.recorded}, trace.recorder != nullptr);
  loaded_ = loaded;
  plan_ = &loaded->plan();
  spins_.store(SpinsOf(loaded), std::memory_order_relaxed);
  state_ = state;
  trace_ = trace;
  error_.reset();
  awaited_.clear();
  waiting_.clear();
  bool interrupted = interrupted_.exchange(false) || (stop != nullptr && stop->load());
  bool expired = false;
  std::string awaited;
  cancelled_.store(interrupted, std::memory_order_relaxed);
  times.start_ns = NowNs();
  end_ns_.store(times.start_ns, std::memory_order_relaxed);
  messaging_ns_.store(0, std::memory_order_relaxed);
  running_drivers_.store(static_cast<int>(drivers), std::memory_order_relaxed);
  for (size_t i = 0; i < drivers; ++i) {
    drivers_[i]->queue = state->queue_of_driver_[i];
    drivers_[i]->steps.fetch_add(1, std::memory_order_release);  // publishes everything above
    drivers_[i]->steps.notify_one();
  }
  WaitUntilDone(times.start_ns, timeout_ns, stop, &interrupted, &expired, &awaited);
  times.end_ns = end_ns_.load(std::memory_order_acquire);
  times.messaging_ns = messaging_ns_.load(std::memory_order_relaxed);
  if (loaded->program() != nullptr) {
    times.end_ns = FinishStreams(trace.recorder != nullptr ? drivers_[0]->ring : nullptr);
    expired = expired || (timeout_ns > 0 && times.end_ns - times.start_ns >= timeout_ns);
  }
  if (error_) throw *error_;
  if (awaited.empty()) awaited = awaited_;
  if (expired)
    Throw(Code::kDeadlineExceeded, "Timed out waiting for notification; the step took longer than {} ms{}",
          timeout_ns / 1000000, awaited.empty() ? "" : ", and still waits for " + awaited);
  if (interrupted) Throw(Code::kCancelled, "the step was cancelled");
  return times;
}

// Work that was issued to streams ends before the step does, whatever went wrong.
int64_t Executor::FinishStreams(EventRing* ring) {
  try {
    loaded_->program()->Drain(cancelled_.load(std::memory_order_relaxed));
  } catch (...) {
    Fail();
  }
  const int64_t end_ns = NowNs();
  // The queues' drivers are done, so their rings may be used here.
  if (ring != nullptr && !error_) loaded_->program()->Publish(ring);
  return end_ns;
}

void Executor::WaitUntilDone(int64_t start_ns, int64_t timeout_ns, const std::atomic<bool>* stop,
                             bool* interrupted, bool* expired, std::string* awaited) {
  const auto finished = [&] { return running_drivers_.load(std::memory_order_acquire) == 0; };
  SpinUntil(spins_, finished);
  const bool soon = stop != nullptr || (timeout_ns > 0 && timeout_ns < 100000000);
  const std::chrono::milliseconds poll(soon ? 1 : 50);
  // The lock is taken even when all is done: the last driver may still hold it.
  std::unique_lock<std::mutex> lock(mutex_);
  int64_t ended_ns = 0;  // since when it has to end
  while (!done_.wait_for(lock, poll, finished)) {
    if (loaded_->program() != nullptr) {
      const int64_t now = NowNs();
      if (cancelled_.load(std::memory_order_relaxed) && ended_ns == 0) ended_ns = now;
      lock.unlock();
      try {
        loaded_->program()->WatchJointLaunches(ended_ns > 0 && now - ended_ns > kJointGraceNs);
      } catch (...) {
        Fail();
      }
      lock.lock();
    }
    if (interrupted_.exchange(false) || (stop != nullptr && stop->load())) *interrupted = true;
    if (!*expired && timeout_ns > 0 && NowNs() - start_ns >= timeout_ns) {
      *expired = true;
      *awaited = Awaited();  // while it still is
    }
    if (!*interrupted && !*expired) continue;
    cancelled_.store(true, std::memory_order_relaxed);
    CancelWaiting();
  }
}

void Executor::DriverLoop(Driver* driver) {
  WorkerTeam::StopOn(&cancelled_);
  for (uint32_t seen = 0;; ++seen) {
    SpinUntil(spins_, [&] { return driver->steps.load(std::memory_order_relaxed) != seen; });
    driver->steps.wait(seen, std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    Drive(driver->queue, trace_.recorder != nullptr ? driver->ring : nullptr);
    if (running_drivers_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_.notify_one();
    }
  }
}

void Executor::Drive(size_t index, EventRing* ring) {
  if (static_cast<int>(index) == loaded_->messages_queue()) {
    DriveMessages(index, ring);
  } else if (state_->queues_[index]->workers == 1) {
    DriveAlone(index, ring);
  } else {
    DriveTogether(index, ring);
  }
  int64_t now = NowNs();
  for (int64_t seen = end_ns_.load(std::memory_order_relaxed);
       seen < now && !end_ns_.compare_exchange_weak(seen, now);) {
  }
}

void Executor::DriveAlone(size_t index, EventRing* ring) {
  StepState::QueueState* queue = state_->queues_[index].get();
  const bool in_order = plan_->queues[index].in_order;
  while (queue->remaining > 0) {
    const CommandId resumed = TakeResumed(queue);
    const CommandId unit = resumed.exists() ? resumed : TakeReady(queue);
    if (!unit.exists()) {
      WaitForWork(queue);
      continue;
    }
    const bool complete = resumed.exists() ? RunWaiting(unit, index, true, ring) : RunOne(unit, index, ring);
    if (FreesWorkers(resumed.exists(), complete, in_order)) queue->ready.Done(unit);
    if (!complete) continue;
    --queue->remaining;
    Complete(unit, index);
  }
}

// A sleeping driver of a queue with several may have something to do, or none has any more.
void Executor::Wake(StepState::QueueState* queue, bool all) {
  queue->news.fetch_add(1, std::memory_order_seq_cst);
  all ? queue->news.notify_all() : queue->news.notify_one();
}

// One of several drivers of a queue. They take units one at a time, and run them side by side.
void Executor::DriveTogether(size_t index, EventRing* ring) {
  StepState::QueueState* queue = state_->queues_[index].get();
  const bool in_order = plan_->queues[index].in_order;
  std::unique_lock<std::mutex> lock(queue->mutex);
  while (queue->remaining > 0) {
    const uint32_t seen = queue->news.load(std::memory_order_seq_cst);
    const CommandId resumed = TakeResumed(queue);
    const CommandId unit = resumed.exists() ? resumed : TakeReady(queue);
    const bool more = queue->ready.CanPop() || queue->num_resumed.load(std::memory_order_relaxed) > 0;
    if (unit.exists() && more) Wake(queue, false);
    lock.unlock();
    if (!unit.exists()) {
      SpinUntil(spins_, [&] { return queue->news.load(std::memory_order_relaxed) != seen; });
      queue->news.wait(seen, std::memory_order_seq_cst);
    }
    const bool complete =
        unit.exists() && (resumed.exists() ? RunWaiting(unit, index, true, ring) : RunOne(unit, index, ring));
    lock.lock();
    if (!unit.exists()) continue;
    if (FreesWorkers(resumed.exists(), complete, in_order)) queue->ready.Done(unit);
    if (!complete) continue;
    --queue->remaining;
    Complete(unit, index);
    if (queue->remaining == 0) Wake(queue, true);
  }
}

CommandId Executor::TakeReady(StepState::QueueState* queue) {
  for (HandoverLog* log : queue->from) {
    for (CommandId c = log->Receive(); c.exists(); c = log->Receive()) {
      queue->ready.Push(loaded_->schedule().commands[c].rank, c);
    }
  }
  return queue->ready.Pop();
}

void Executor::WaitForWork(StepState::QueueState* queue) {
  const auto has_work = [queue] {
    return queue->num_resumed.load(std::memory_order_seq_cst) > 0 ||
           std::any_of(queue->from.begin(), queue->from.end(),
                       [](const HandoverLog* log) { return log->HasMore(); });
  };
  if (SpinUntil(spins_, has_work)) return;
  queue->asleep.store(1, std::memory_order_seq_cst);
  while (!has_work() && queue->asleep.load(std::memory_order_relaxed) == 1) FutexWait(queue->asleep, 1);
  queue->asleep.store(0, std::memory_order_relaxed);
}

void Executor::HandOver(CommandId unit, size_t from, int to) {
  state_->queues_[from]->to[static_cast<size_t>(to)]->Send(unit);
  if (to == loaded_->messages_queue()) loaded_->messages()->Nudge();
  StepState::QueueState* receiver = state_->queues_[static_cast<size_t>(to)].get();
  if (receiver->workers > 1) return Wake(receiver, false);
  // Waking costs a system call, so only a sleeper is woken.
  if (receiver->asleep.load(std::memory_order_seq_cst) != 0 && receiver->asleep.exchange(0) != 0) {
    FutexWake(receiver->asleep);
  }
}

// Whether the command is complete; else it waits, and is resumed later.
bool Executor::RunOne(CommandId number, size_t queue, EventRing* ring) {
  if (cancelled_.load(std::memory_order_relaxed)) return true;
  if (loaded_->WaitingKernelOf(number) != nullptr) return RunWaiting(number, queue, false, ring);
  RunNow(number, ring);
  return true;
}

void Executor::RunNow(CommandId number, EventRing* ring) {
  const bool event_command = !loaded_->schedule().commands[number].is_work();
  // Between host queues the dependencies say it all.
  if (event_command && loaded_->program() == nullptr) return;
  try {
    // Waiting for streams is no part of what the command takes.
    loaded_->AwaitStreams(number);
    if (ring == nullptr) {
      loaded_->RunCommand(number, &pacer_, cancelled_);
      return;
    }
    Event event;
    event.command = number;
    event.step = trace_.step;
    event.schedule = trace_.schedule;
    event.start_ns = NowNs();
    event.bytes = loaded_->RunCommand(number, &pacer_, cancelled_);
    event.end_ns = NowNs();
    if (event.bytes != LoadedSchedule::kNotTimed) ring->Push(event);
  } catch (...) {
    Fail();
  }
}

// The exception itself stays in this thread: whoever runs the step gets an error of its own.
void Executor::Fail() {
  const Error error = ErrorInFlight();
  // A command that noticed why the step ends is not the reason itself.
  if (error.code() == Code::kCancelled && cancelled_.load(std::memory_order_relaxed)) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = error;
    cancelled_.store(true, std::memory_order_relaxed);
  }
  CancelWaiting();
}

void Executor::Complete(CommandId number, size_t own_queue) {
  for (const CommandId next : plan_->successors[number]) {
    StepState::UnitState& state = state_->units_[next.index()];
    // Acquire and release: the last predecessor has seen what all the others wrote, and passes it on.
    if (!state.single && state.waiting.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (static_cast<size_t>(state.queue) == own_queue) {
      state_->queues_[own_queue]->ready.Push(loaded_->schedule().commands[next].rank, next);
    } else {
      HandOver(next, own_queue, state.queue);
    }
  }
}

}  // namespace lanescope::exec
