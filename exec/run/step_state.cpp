// SPDX-License-Identifier: Apache-2.0
#include "exec/run/step_state.h"

#include <algorithm>

namespace lanescope::exec {

HandoverLog::HandoverLog(size_t capacity) : slots_(capacity + 1) { Reset(); }

void HandoverLog::Reset() {
  for (std::atomic<int>& slot : slots_) slot.store(-1, std::memory_order_relaxed);
  sent_ = received_ = 0;
}

StepState::StepState(const LoadedSchedule& loaded) : schedule_(loaded.schedule()), plan_(loaded.plan()) {
  const size_t count = plan_.queue_of.size();
  units_ = std::make_unique<UnitState[]>(count);
  for (const IssuePlan::IssueQueue& queue : plan_.queues) {
    queues_.push_back(std::make_unique<QueueState>());
    queues_.back()->workers = std::max(1, queue.workers);
    // Any number of messages are under way at once.
    const bool messages = static_cast<int>(queues_.size()) - 1 == loaded.messages_queue();
    queues_.back()->ready = ReadyQueue(queue.in_order ? &queue.order : nullptr,
                                       messages ? INT32_MAX : queues_.back()->workers, &schedule_.commands);
    queue_of_driver_.insert(queue_of_driver_.end(), static_cast<size_t>(queues_.back()->workers),
                            queues_.size() - 1);
  }
  for (const CommandId c : plan_.queue_of.ids()) {
    const int queue = plan_.queue_of[c];
    if (queue < 0) continue;
    units_[c.index()].queue = queue;
    units_[c.index()].single = plan_.num_predecessors[c] == 1;
    ++queues_[static_cast<size_t>(queue)]->units;
    if (plan_.num_predecessors[c] == 0) sources_.push_back(c);
  }
  // Drivers take no memory: a queue whose driver failed in between would hold up the others for ever.
  for (auto& queue : queues_) {
    queue->ready.Reserve(static_cast<size_t>(queue->units));
    queue->resumed.reserve(static_cast<size_t>(queue->units));
  }
  MakeLogs();
}

// A unit comes from another queue at most once, and only from one that holds a predecessor.
void StepState::MakeLogs() {
  const size_t queues = queues_.size();
  std::vector<size_t> capacity(queues * queues, 0);
  for (const CommandId c : plan_.queue_of.ids()) {
    if (plan_.queue_of[c] < 0) continue;
    const auto from = static_cast<size_t>(plan_.queue_of[c]);
    for (const CommandId next : plan_.successors[c]) {
      const auto to = static_cast<size_t>(plan_.queue_of[next]);
      if (to != from) ++capacity[from * queues + to];
    }
  }
  for (size_t from = 0; from < queues; ++from) {
    queues_[from]->to.resize(queues);
    for (size_t to = 0; to < queues; ++to) {
      if (capacity[from * queues + to] == 0) continue;
      logs_.push_back(std::make_unique<HandoverLog>(capacity[from * queues + to]));
      queues_[from]->to[to] = logs_.back().get();
      queues_[to]->from.push_back(logs_.back().get());
    }
  }
}

void StepState::Reset() {
  for (const CommandId c : plan_.queue_of.ids()) {
    units_[c.index()].waiting.store(plan_.num_predecessors[c], std::memory_order_relaxed);
  }
  for (auto& log : logs_) log->Reset();
  for (auto& queue : queues_) {
    queue->asleep.store(0, std::memory_order_relaxed);
    queue->resumed.clear();
    queue->num_resumed.store(0, std::memory_order_relaxed);
    queue->ready.Reset();
    queue->remaining = queue->units;
  }
  for (const CommandId c : sources_) {
    queues_[static_cast<size_t>(units_[c.index()].queue)]->ready.Push(schedule_.commands[c].rank, c);
  }
}

}  // namespace lanescope::exec
