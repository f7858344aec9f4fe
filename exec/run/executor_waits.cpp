// SPDX-License-Identifier: Apache-2.0
// Launches that wait for other steps: what they wait for, how they go on, and how a step that ends ends them.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/base/futex.h"
#include "exec/run/executor.h"

namespace lanescope::exec {

bool Executor::RunWaiting(CommandId number, size_t index, bool resumed, EventRing* ring) {
  WaitingKernel* const kernel = loaded_->WaitingKernelOf(number);
  Event event;
  event.command = number;
  event.step = trace_.step;
  event.schedule = trace_.schedule;
  event.start_ns = NowNs();
  int64_t since_ns = event.start_ns;
  int attempt = 0;
  StepState::QueueState* const queue = state_->queues_[index].get();
  try {
    {
      const std::lock_guard<std::mutex> lock(waiting_mutex_);
      if (resumed) {
        // It may have to wait again, for something else.
        const auto waiting = std::ranges::find(waiting_, kernel, &Waiting::kernel);
        since_ns = std::exchange(waiting->since_ns, event.start_ns);
        attempt = ++waiting->attempt;
        waiting->waits = false;
      } else {
        waiting_.push_back({kernel, since_ns});
      }
    }
    if (resumed && trace_.waits != nullptr) NoteWait(number, kernel, since_ns);
    if (!loaded_->Advance(number, [this, number, queue] { Resume(number, queue); })) {
      // A cancellation before the wait began has not ended it. (It read the kernel's state before, so that
      // it is visible here that the step has to end.)
      if (cancelled_.load(std::memory_order_relaxed)) kernel->Cancel();
      NoteThatItWaits(kernel, attempt);
      return false;
    }
    event.end_ns = NowNs();
    if (ring != nullptr) ring->Push(event);
    if (trace_.waits != nullptr && trace_.thread != kNoInputThread) {
      const int node = loaded_->schedule().commands[number].node.number();
      trace_.waits->Work(trace_.thread, node, event.end_ns - event.start_ns);
    }
  } catch (...) {
    Fail();
  }
  const std::lock_guard<std::mutex> lock(waiting_mutex_);
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.kernel == kernel; });
  return true;
}

void Executor::NoteWait(CommandId unit, WaitingKernel* kernel, int64_t since_ns) {
  const int node = loaded_->schedule().commands[unit].node.number();
  trace_.waits->Wait({trace_.thread, trace_.waiting_step, node, 0, since_ns, NowNs()}, kernel->WaitsFor());
}

// Unless another driver has taken it up meanwhile: that one has to have this lock before it goes on.
void Executor::NoteThatItWaits(WaitingKernel* kernel, int attempt) {
  const std::lock_guard<std::mutex> lock(waiting_mutex_);
  const auto waiting = std::ranges::find(waiting_, kernel, &Waiting::kernel);
  if (waiting != waiting_.end() && waiting->attempt == attempt) waiting->waits = true;
}

// For messages: "queue 'examples'", or several of the kind. Empty: nothing that is known waits.
std::string Executor::Awaited() {
  const std::lock_guard<std::mutex> lock(waiting_mutex_);
  std::vector<std::string> names;
  for (const Waiting& waiting : waiting_) {
    if (waiting.waits) names.push_back(waiting.kernel->WaitsFor());
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

// Called by whoever lets the unit go on, from any thread.
void Executor::Resume(CommandId unit, StepState::QueueState* queue) {
  const std::lock_guard<std::mutex> lock(queue->resumed_mutex);
  queue->resumed.push_back(unit);
  queue->num_resumed.fetch_add(1, std::memory_order_seq_cst);
  if (queue->workers > 1) return Wake(queue, false);
  if (queue->asleep.load(std::memory_order_seq_cst) != 0 && queue->asleep.exchange(0) != 0) {
    FutexWake(queue->asleep);
  }
}

CommandId Executor::TakeResumed(StepState::QueueState* queue) {
  if (queue->num_resumed.load(std::memory_order_relaxed) == 0) return {};
  const std::lock_guard<std::mutex> lock(queue->resumed_mutex);
  const CommandId unit = queue->resumed.back();
  queue->resumed.pop_back();
  queue->num_resumed.fetch_sub(1, std::memory_order_relaxed);
  return unit;
}

void Executor::CancelWaiting() {
  std::vector<Waiting> waiting;
  {
    const std::lock_guard<std::mutex> lock(waiting_mutex_);
    waiting = waiting_;
  }
  for (const Waiting& each : waiting) each.kernel->Cancel();
}

}  // namespace lanescope::exec
