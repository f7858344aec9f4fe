// SPDX-License-Identifier: Apache-2.0
#include "core/record/recorder.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace lanescope {

EventRing::EventRing(size_t capacity)
    : slots_(std::bit_ceil(std::max<size_t>(capacity, 2))), mask_(slots_.size() - 1) {}

bool EventRing::Push(const Event& event) {
  // Only this thread moves head_, so its own last value is current.
  const uint64_t head = head_.load(std::memory_order_relaxed);
  if (head - cached_tail_ > mask_) {
    // Acquire: the consumer has finished reading the slots that it gave back.
    cached_tail_ = tail_.load(std::memory_order_acquire);
    if (head - cached_tail_ > mask_) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return false;
    }
  }
  slots_[head & mask_] = event;
  // Release: the slot is whole before the consumer sees it.
  head_.store(head + 1, std::memory_order_release);
  return true;
}

void EventRing::Drain(std::vector<Event>* out) {
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  const uint64_t head = head_.load(std::memory_order_acquire);
  if (head == tail) return;
  const uint64_t begin = tail & mask_;
  const uint64_t count = head - tail;
  const uint64_t until_end = std::min(count, mask_ + 1 - begin);
  const auto first = slots_.begin() + static_cast<std::ptrdiff_t>(begin);
  out->insert(out->end(), first, first + static_cast<std::ptrdiff_t>(until_end));
  out->insert(out->end(), slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(count - until_end));
  tail_.store(head, std::memory_order_release);
}

Recorder::Recorder(EventSink* sink, int interval_ms)
    : sink_(sink),
      interval_ms_(std::max(interval_ms, 1)),
      thread_("recording events", [this] { DrainLoop(); }) {}

Recorder::~Recorder() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.Wait();
}

EventRing* Recorder::NewRing(size_t capacity) {
  auto ring = std::make_unique<EventRing>(capacity);
  std::lock_guard lock(mutex_);
  rings_.push_back(std::move(ring));
  reported_drops_.push_back(0);
  return rings_.back().get();
}

void Recorder::Flush() {
  std::unique_lock lock(mutex_);
  // passes_ is odd while a pass runs. That pass may have left a ring before the caller's last push, so the
  // caller waits for the end of one that starts now or later.
  const int64_t target = passes_ + (passes_ % 2 == 0 ? 2 : 3);
  while (passes_ < target) {
    flush_ = true;
    wake_.notify_one();
    drained_.wait(lock);
  }
  if (failure_) std::rethrow_exception(failure_);
}

void Recorder::DrainLoop() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    wake_.wait_for(lock, std::chrono::milliseconds(interval_ms_), [this] { return stop_ || flush_; });
    last = stop_;
    flush_ = false;
    ++passes_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      DrainOnce();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (!failure_) failure_ = failure;
    ++passes_;
    drained_.notify_all();
  }
}

void Recorder::DrainOnce() {
  std::vector<EventRing*> rings;
  {
    // The sink runs outside the lock, so that a slow one never delays NewRing.
    std::lock_guard lock(mutex_);
    rings.reserve(rings_.size());
    for (const auto& ring : rings_) rings.push_back(ring.get());
  }
  std::vector<Event> events;
  int64_t dropped = 0;
  for (size_t i = 0; i < rings.size(); ++i) {
    rings[i]->Drain(&events);
    const int64_t total = rings[i]->dropped();
    std::lock_guard lock(mutex_);
    dropped += total - reported_drops_[i];
    reported_drops_[i] = total;
  }
  if (!events.empty()) sink_->Consume(events);
  if (dropped > 0) sink_->CountDropped(dropped);
}

}  // namespace lanescope
