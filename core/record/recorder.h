// SPDX-License-Identifier: Apache-2.0
// Takes events from executing threads at the price of a few stores and hands them to a sink on its own
// thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/record/event.h"

namespace lanescope {

// A single-producer, single-consumer ring of events. Invariants: only the producer moves head_, only the
// consumer moves tail_; a slot in [tail_, head_) belongs to the consumer, any other to the producer. A full
// ring drops the new event and counts it.
class EventRing {
 public:
  // `capacity` is rounded up to a power of two.
  explicit EventRing(size_t capacity);
  // Producer only. False when the ring was full (the event is counted as dropped).
  bool Push(const Event& event);
  // Consumer only: appends everything published so far to `out`.
  void Drain(std::vector<Event>* out);
  int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::vector<Event> slots_;
  uint64_t mask_;
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
  uint64_t cached_tail_ = 0;  // producer's copy
  std::atomic<int64_t> dropped_{0};
};

// Owns the rings and the draining thread. NewRing may be called from any thread; a ring has one producer.
class Recorder {
 public:
  // Drains every `interval_ms` into `sink`, which must outlive the recorder.
  explicit Recorder(EventSink* sink, int interval_ms = 50);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // The ring lives as long as the recorder.
  EventRing* NewRing(size_t capacity = 1 << 16);
  // Returns when everything pushed before the call has reached the sink. Throws what the sink threw, or what
  // kept events from it, at any time so far.
  void Flush();

 private:
  void DrainLoop();
  void DrainOnce();

  EventSink* sink_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable drained_;
  std::vector<std::unique_ptr<EventRing>> rings_;
  std::vector<int64_t> reported_drops_;
  int64_t passes_ = 0;
  bool stop_ = false;
  bool flush_ = false;
  std::exception_ptr failure_;  // the first one of the draining thread
  const int interval_ms_;
  Thread thread_;
};

}  // namespace lanescope
