#include "exec/executor.h"

#include <chrono>

#include "core/error.h"

namespace lanescope::exec {
namespace {

// Spinning this long catches a hand-off between busy devices; longer would take the core from a device that
// works.
constexpr int kSpins = 400;

}  // namespace

StepState::StepState(const Schedule& schedule) : schedule_(schedule), orders_(QueueOrders(schedule)) {
  const size_t count = schedule.commands.size();
  commands_ = std::make_unique<CommandState[]>(count);
  for (size_t q = 0; q < schedule.queues.size(); ++q) {
    queues_.push_back(std::make_unique<QueueState>());
    if (schedule.queues[q].in_order) queues_.back()->ready = ReadyQueue(&orders_[q]);
  }
  for (size_t c = 0; c < count; ++c) {
    commands_[c].queue = schedule.commands[c].queue;
    commands_[c].single = schedule.num_predecessors[c] == 1;
    ++queues_[static_cast<size_t>(schedule.commands[c].queue)]->commands;
    if (schedule.num_predecessors[c] == 0) sources_.push_back(static_cast<int>(c));
  }
}

void StepState::Reset() {
  for (size_t c = 0; c < schedule_.commands.size(); ++c) {
    commands_[c].waiting.store(schedule_.num_predecessors[c], std::memory_order_relaxed);
  }
  for (auto& queue : queues_) {
    queue->inbox.store(kEmpty, std::memory_order_relaxed);
    queue->ready.Reset();
    queue->remaining = queue->commands;
  }
  for (const int c : sources_) {
    const Command& command = schedule_.commands[static_cast<size_t>(c)];
    queues_[static_cast<size_t>(command.queue)]->ready.Push(command.rank, c);
  }
}

Executor::Executor(const Machine& machine) : pacer_(machine) {}

Executor::~Executor() {
  stop_.store(true, std::memory_order_relaxed);
  for (auto& driver : drivers_) {
    driver->steps.fetch_add(1, std::memory_order_release);
    driver->steps.notify_one();
  }
  for (auto& driver : drivers_) driver->thread.join();
}

void Executor::ForgetRecorder() {
  recorder_ = nullptr;
  for (auto& driver : drivers_) driver->ring = nullptr;
}

void Executor::MakeDrivers(size_t count, Recorder* recorder) {
  while (drivers_.size() < count) {
    const size_t index = drivers_.size();
    drivers_.push_back(std::make_unique<Driver>());
    Driver* driver = drivers_.back().get();
    driver->thread = std::thread([this, driver, index] { DriverLoop(driver, index); });
  }
  if (recorder == nullptr) return;
  if (recorder != recorder_) ForgetRecorder();
  recorder_ = recorder;
  for (size_t i = 0; i < count; ++i) {
    if (drivers_[i]->ring == nullptr) drivers_[i]->ring = recorder->NewRing();
  }
}

StepTimes Executor::Run(LoadedSchedule* loaded, StepState* state, int64_t timeout_ns, const Trace& trace) {
  StepTimes times;
  const size_t queues = loaded->schedule().queues.size();
  state->Reset();
  MakeDrivers(queues, trace.recorder);
  loaded_ = loaded;
  state_ = state;
  trace_ = trace;
  error_ = nullptr;
  bool interrupted = interrupted_.exchange(false);
  bool expired = false;
  cancelled_.store(interrupted, std::memory_order_relaxed);
  times.start_ns = NowNs();
  end_ns_.store(times.start_ns, std::memory_order_relaxed);
  running_queues_.store(static_cast<int>(queues), std::memory_order_relaxed);
  for (size_t i = 0; i < queues; ++i) {
    drivers_[i]->steps.fetch_add(1, std::memory_order_release);  // publishes everything above
    drivers_[i]->steps.notify_one();
  }
  WaitUntilDone(times.start_ns, timeout_ns, &interrupted, &expired);
  times.end_ns = end_ns_.load(std::memory_order_acquire);
  if (error_) std::rethrow_exception(error_);
  if (expired)
    Throw(Code::kDeadlineExceeded, "Timed out waiting for notification; the step took longer than {} ms",
          timeout_ns / 1000000);
  if (interrupted) Throw(Code::kCancelled, "the step was cancelled");
  return times;
}

void Executor::WaitUntilDone(int64_t start_ns, int64_t timeout_ns, bool* interrupted, bool* expired) {
  const auto finished = [&] { return running_queues_.load(std::memory_order_acquire) == 0; };
  for (int spin = 0; spin < kSpins && !finished(); ++spin) __builtin_ia32_pause();
  const std::chrono::milliseconds poll(timeout_ns > 0 && timeout_ns < 100000000 ? 1 : 50);
  // The lock is taken even when all is done: the last driver may still hold it.
  std::unique_lock<std::mutex> lock(mutex_);
  while (!done_.wait_for(lock, poll, finished)) {
    if (interrupted_.exchange(false)) *interrupted = true;
    if (timeout_ns > 0 && NowNs() - start_ns >= timeout_ns) *expired = true;
    if (*interrupted || *expired) cancelled_.store(true, std::memory_order_relaxed);
  }
}

void Executor::DriverLoop(Driver* driver, size_t index) {
  for (uint32_t seen = 0;; ++seen) {
    for (int spin = 0; spin < kSpins && driver->steps.load(std::memory_order_relaxed) == seen; ++spin) {
      __builtin_ia32_pause();
    }
    driver->steps.wait(seen, std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    Drive(index, trace_.recorder != nullptr ? driver->ring : nullptr);
    if (running_queues_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_.notify_one();
    }
  }
}

void Executor::Drive(size_t index, EventRing* ring) {
  StepState::QueueState* queue = state_->queues_[index].get();
  while (queue->remaining > 0) {
    const int command = TakeReady(queue);
    if (command < 0) {
      WaitForWork(queue);
      continue;
    }
    RunOne(command, ring);
    --queue->remaining;
    Complete(command, index);
  }
  int64_t now = NowNs();
  for (int64_t seen = end_ns_.load(std::memory_order_relaxed);
       seen < now && !end_ns_.compare_exchange_weak(seen, now);) {
  }
}

int Executor::TakeReady(StepState::QueueState* queue) {
  if (queue->inbox.load(std::memory_order_relaxed) >= 0) {
    // Acquire: what the handing driver did before (the data that the command reads) is visible.
    for (int c = queue->inbox.exchange(StepState::kEmpty, std::memory_order_acquire); c >= 0;) {
      const int next = state_->commands_[static_cast<size_t>(c)].next.load(std::memory_order_relaxed);
      queue->ready.Push(loaded_->schedule().commands[static_cast<size_t>(c)].rank, c);
      c = next;
    }
  }
  return queue->ready.Pop();
}

void Executor::WaitForWork(StepState::QueueState* queue) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (queue->inbox.load(std::memory_order_relaxed) >= 0) return;
    __builtin_ia32_pause();
  }
  int empty = StepState::kEmpty;
  if (queue->inbox.compare_exchange_strong(empty, StepState::kAsleep, std::memory_order_relaxed)) {
    queue->inbox.wait(StepState::kAsleep, std::memory_order_relaxed);
  }
}

void Executor::HandOver(int number, StepState::QueueState* queue) {
  int top = queue->inbox.load(std::memory_order_relaxed);
  do {
    // A mark counts as the end of the list.
    state_->commands_[static_cast<size_t>(number)].next.store(top, std::memory_order_relaxed);
  } while (
      !queue->inbox.compare_exchange_weak(top, number, std::memory_order_release, std::memory_order_relaxed));
  // Waking costs a system call, so only a sleeper is woken.
  if (top == StepState::kAsleep) queue->inbox.notify_one();
}

void Executor::RunOne(int number, EventRing* ring) {
  if (cancelled_.load(std::memory_order_relaxed)) return;
  const CommandKind kind = loaded_->schedule().commands[static_cast<size_t>(number)].kind;
  if (kind == CommandKind::kRecord || kind == CommandKind::kWait) return;
  try {
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
    ring->Push(event);
  } catch (const Error& error) {
    Fail(std::make_exception_ptr(
        Error(error.code(), fmt::format("{} [{}]", error.message(), loaded_->Describe(number)))));
  } catch (...) {
    Fail(std::current_exception());
  }
}

void Executor::Fail(std::exception_ptr error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!error_) error_ = std::move(error);
  cancelled_.store(true, std::memory_order_relaxed);
}

void Executor::Complete(int number, size_t own_queue) {
  for (const int next : loaded_->schedule().Successors(number)) {
    StepState::CommandState& state = state_->commands_[static_cast<size_t>(next)];
    // Acquire and release: the last predecessor has seen what all the others wrote, and passes it on.
    if (!state.single && state.waiting.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    StepState::QueueState* queue = state_->queues_[static_cast<size_t>(state.queue)].get();
    if (static_cast<size_t>(state.queue) == own_queue) {
      queue->ready.Push(loaded_->schedule().commands[static_cast<size_t>(next)].rank, next);
    } else {
      HandOver(next, queue);
    }
  }
}

}  // namespace lanescope::exec
