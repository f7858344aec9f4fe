// SPDX-License-Identifier: Apache-2.0
// Outcomes of attempts on queues, for tests.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "exec/resources/queue.h"

namespace lanescope::exec {

// "waiting", "done", an error, or the float elements that were taken: "[10, 20]".
using Outcome = std::shared_ptr<std::string>;

inline Outcome Waiting() { return std::make_shared<std::string>("waiting"); }

inline TensorQueue::Done NoteDone(const Outcome& outcome) {
  return [outcome](const Error* error) { *outcome = error == nullptr ? "done" : error->what(); };
}

inline std::string FloatsOf(const Tensor& tensor) {
  return fmt::format("[{}]",
                     fmt::join(tensor.data<float>(), tensor.data<float>() + tensor.NumElements(), ", "));
}

inline TensorQueue::Taken NoteTaken(const Outcome& outcome) {
  return [outcome](const Error* error, QueueTuple tuple) {
    *outcome = error == nullptr ? FloatsOf(tuple[0]) : error->what();
  };
}

// A queue of scalar floats.
inline QueueSpec FloatQueue(TensorQueueKind kind, int64_t capacity, int64_t min_after_dequeue = 0) {
  QueueSpec spec;
  spec.kind = kind;
  spec.capacity = capacity;
  spec.types = {DataType::kFloat};
  spec.shapes = {Shape{}};
  spec.min_after_dequeue = min_after_dequeue;
  return spec;
}

inline QueueTuple Floats(const std::vector<float>& values) {
  return {Tensor::FromValues(Shape{static_cast<int64_t>(values.size())}, values)};
}

// Attempts whose outcome is noted.
struct NotedQueue {
  TensorQueue queue;
  TensorQueue::AttemptNumber last = 0;

  explicit NotedQueue(const QueueSpec& spec, const std::string& name = "q") : queue(name, spec) {}
  NotedQueue(TensorQueueKind kind, int64_t capacity, int64_t min_after_dequeue = 0)
      : NotedQueue(FloatQueue(kind, capacity, min_after_dequeue)) {}

  Outcome Enqueue(float value) {
    Outcome outcome = Waiting();
    last = queue.Enqueue({Tensor::Scalar(value)}, NoteDone(outcome));
    return outcome;
  }
  Outcome EnqueueMany(const std::vector<float>& values) {
    Outcome outcome = Waiting();
    last = queue.EnqueueMany(Floats(values), NoteDone(outcome));
    return outcome;
  }
  Outcome Dequeue() {
    Outcome outcome = Waiting();
    last = queue.Dequeue(NoteTaken(outcome));
    return outcome;
  }
  Outcome DequeueMany(int64_t count) {
    Outcome outcome = Waiting();
    last = queue.DequeueMany(count, NoteTaken(outcome));
    return outcome;
  }
  Outcome DequeueUpTo(int64_t count) {
    Outcome outcome = Waiting();
    last = queue.DequeueUpTo(count, NoteTaken(outcome));
    return outcome;
  }
  Outcome Close(bool cancel_pending_enqueues = false) {
    Outcome outcome = Waiting();
    last = queue.Close(cancel_pending_enqueues, NoteDone(outcome));
    return outcome;
  }
};

inline constexpr char kInsufficient[] = "is closed and has insufficient elements";

}  // namespace lanescope::exec
