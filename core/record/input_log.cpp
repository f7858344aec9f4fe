// SPDX-License-Identifier: Apache-2.0
#include "core/record/input_log.h"

namespace lanescope {
namespace {

constexpr int64_t kBetweenFillsNs = 200'000;

}  // namespace

void Append(const InputRecord& part, InputRecord* record) {
  const auto append = [&](auto InputRecord::*list) {
    (record->*list).insert((record->*list).end(), (part.*list).begin(), (part.*list).end());
  };
  append(&InputRecord::threads);
  append(&InputRecord::queues);
  append(&InputRecord::steps);
  append(&InputRecord::waits);
  append(&InputRecord::works);
  append(&InputRecord::fills);
}

int InputLog::ThreadOf(const void* who, const std::string& op, const std::string& queue) {
  const std::lock_guard lock(mutex_);
  const auto [thread, is_new] = threads_.try_emplace({who, op}, static_cast<int>(threads_.size()));
  if (is_new) record_.threads.push_back({thread->second, op, queue});
  Count();
  return thread->second;
}

int InputLog::BeginStep(int thread) {
  const std::lock_guard lock(mutex_);
  return steps_[thread]++;
}

void InputLog::EndStep(int thread, int step, int64_t start_ns, int64_t end_ns) {
  const std::lock_guard lock(mutex_);
  record_.steps.push_back({thread, step, start_ns, end_ns});
  Count();
}

void InputLog::Wait(InputWait wait, const std::string& awaited) {
  const std::lock_guard lock(mutex_);
  wait.queue = QueueOf({.name = awaited}).queue.number;
  record_.waits.push_back(wait);
  Count();
}

void InputLog::Work(int thread, int node, int64_t ns) {
  const std::lock_guard lock(mutex_);
  InputWork& work = works_.try_emplace({thread, node}, InputWork{thread, node}).first->second;
  ++work.count;
  work.ns += ns;
}

bool InputLog::FillIsDue(int64_t now_ns) {
  int64_t due = next_fill_ns_.load(std::memory_order_relaxed);
  return now_ns >= due &&
         next_fill_ns_.compare_exchange_strong(due, now_ns + kBetweenFillsNs, std::memory_order_relaxed);
}

void InputLog::Fill(const InputQueue& queue, int64_t time_ns, int64_t size) {
  const std::lock_guard lock(mutex_);
  KnownQueue& known = QueueOf(queue);
  if (known.size == size) return;
  known.size = size;
  record_.fills.push_back({known.queue.number, time_ns, size});
  Count();
}

// A queue that was only waited for is described once it is looked at.
InputLog::KnownQueue& InputLog::QueueOf(const InputQueue& queue) {
  const auto [entry, is_new] = queues_.try_emplace(queue.name);
  KnownQueue& known = entry->second;
  const bool says_more = known.queue.capacity < 0 && queue.capacity >= 0;
  if (!is_new && !says_more) return known;
  const int number = is_new ? static_cast<int>(queues_.size()) - 1 : known.queue.number;
  known.queue = queue;
  known.queue.number = number;
  record_.queues.push_back(known.queue);
  return known;
}

InputRecord InputLog::Take() {
  const std::lock_guard lock(mutex_);
  size_.store(0, std::memory_order_relaxed);
  for (const auto& [key, work] : std::exchange(works_, {})) record_.works.push_back(work);
  return std::exchange(record_, {});
}

void InputLog::Count() { size_.store(record_.size(), std::memory_order_relaxed); }

}  // namespace lanescope
