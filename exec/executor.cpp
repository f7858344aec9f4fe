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
  waiting_ = std::make_unique<std::atomic<int>[]>(count);
  next_ = std::make_unique<std::atomic<int>[]>(count);
  for (size_t q = 0; q < schedule.queues.size(); ++q) {
    queues_.push_back(std::make_unique<QueueState>());
    if (schedule.queues[q].in_order) queues_.back()->ready = ReadyQueue(&orders_[q]);
  }
  for (size_t c = 0; c < count; ++c) {
    ++queues_[static_cast<size_t>(schedule.commands[c].queue)]->commands;
    if (schedule.num_predecessors[c] == 0) sources_.push_back(static_cast<int>(c));
  }
}

void StepState::Reset() {
  for (size_t c = 0; c < schedule_.commands.size(); ++c) {
    waiting_[c].store(schedule_.num_predecessors[c], std::memory_order_relaxed);
  }
  for (auto& queue : queues_) {
    queue->inbox.store(-1, std::memory_order_relaxed);
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
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (auto& driver : drivers_) driver->thread.join();
}

void Executor::MakeDrivers(size_t count, Recorder* recorder) {
  while (drivers_.size() < count) {
    const size_t index = drivers_.size();
    drivers_.push_back(std::make_unique<Driver>());
    drivers_.back()->thread = std::thread([this, index, seen = generation_.load()]() mutable {
      // The generation is read before the thread starts, so that a step begun meanwhile is not missed.
      for (;;) {
        generation_.wait(seen, std::memory_order_acquire);
        seen = generation_.load(std::memory_order_acquire);
        if (stop_.load(std::memory_order_relaxed)) return;
        DriverLoop(index);
      }
    });
  }
  if (recorder != recorder_) {
    recorder_ = recorder;
    for (auto& driver : drivers_) driver->ring = nullptr;
  }
  if (recorder == nullptr) return;
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
  cancelled_.store(interrupted_.exchange(false), std::memory_order_relaxed);
  bool interrupted = cancelled_.load(std::memory_order_relaxed);
  bool expired = false;
  times.start_ns = NowNs();
  end_ns_.store(times.start_ns, std::memory_order_relaxed);
  if (queues > 0) {
    running_queues_.store(static_cast<int>(drivers_.size()), std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);  // publishes everything above
    generation_.notify_all();
    std::unique_lock<std::mutex> lock(mutex_);
    const auto finished = [&] { return running_queues_.load(std::memory_order_acquire) == 0; };
    while (!done_.wait_for(lock, std::chrono::milliseconds(timeout_ns > 0 && timeout_ns < 100000000 ? 1 : 50),
                           finished)) {
      if (interrupted_.exchange(false)) interrupted = true;
      if (timeout_ns > 0 && NowNs() - times.start_ns >= timeout_ns) expired = true;
      if (interrupted || expired) cancelled_.store(true, std::memory_order_relaxed);
    }
  }
  times.end_ns = end_ns_.load(std::memory_order_acquire);
  if (error_) std::rethrow_exception(error_);
  if (expired)
    Throw(Code::kDeadlineExceeded, "Timed out waiting for notification; the step took longer than {} ms",
          timeout_ns / 1000000);
  if (interrupted) Throw(Code::kCancelled, "the step was cancelled");
  return times;
}

void Executor::DriverLoop(size_t index) {
  if (index < loaded_->schedule().queues.size()) Drive(index, drivers_[index]->ring);
  if (running_queues_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_.notify_one();
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
    for (int c = queue->inbox.exchange(-1, std::memory_order_acquire); c >= 0;) {
      const int next = state_->next_[static_cast<size_t>(c)].load(std::memory_order_relaxed);
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
  const uint32_t seen = queue->signal.load(std::memory_order_acquire);
  if (queue->inbox.load(std::memory_order_acquire) >= 0) return;
  queue->signal.wait(seen, std::memory_order_acquire);
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
  const Schedule& schedule = loaded_->schedule();
  for (const int next : schedule.Successors(number)) {
    // Acquire and release: the last predecessor has seen what all the others wrote, and passes it on.
    if (state_->waiting_[static_cast<size_t>(next)].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    const Command& command = schedule.commands[static_cast<size_t>(next)];
    StepState::QueueState* queue = state_->queues_[static_cast<size_t>(command.queue)].get();
    if (static_cast<size_t>(command.queue) == own_queue) {
      queue->ready.Push(command.rank, next);
      continue;
    }
    int top = queue->inbox.load(std::memory_order_relaxed);
    do {
      state_->next_[static_cast<size_t>(next)].store(top, std::memory_order_relaxed);
    } while (
        !queue->inbox.compare_exchange_weak(top, next, std::memory_order_release, std::memory_order_relaxed));
    queue->signal.fetch_add(1, std::memory_order_release);
    queue->signal.notify_one();
  }
}

}  // namespace lanescope::exec
