// SPDX-License-Identifier: Apache-2.0
// The driver of the messages to and from other tasks: it starts them as they become ready, looks which are
// complete, and sleeps in between.
#include "core/base/clock.h"
#include "exec/messages/patient_wait.h"
#include "exec/run/executor.h"
#include "exec/run/message_progress.h"

namespace lanescope::exec {

void Executor::DriveMessages(size_t index, EventRing* ring) {
  StepState::QueueState* queue = state_->queues_[index].get();
  MessageProgress& messages = *loaded_->messages();
  const auto complete = [&](CommandId unit) {
    --queue->remaining;
    queue->ready.Done(unit);
    Complete(unit, index);
  };
  std::vector<MessageProgress::Done> done;
  PatientWait patience(messages.transport());
  const int64_t began_ns = ThreadNs();
  while (queue->remaining > 0) {
    const bool cancelled = cancelled_.load(std::memory_order_relaxed);
    if (cancelled && !messages.idle()) {
      // The other ends may never come.
      if (awaited_.empty()) awaited_ = messages.Oldest();
      for (const CommandId unit : messages.Abandon()) complete(unit);
    }
    const CommandId unit = TakeReady(queue);
    if (unit.exists()) {
      try {
        if (!cancelled) messages.Start(unit);
      } catch (...) {
        Fail();
      }
      if (cancelled || cancelled_.load(std::memory_order_relaxed)) {
        // Started or not, it is done with.
        for (const CommandId started : messages.Abandon()) {
          if (started != unit) complete(started);
        }
        complete(unit);
      }
      patience.Reset();
      continue;
    }
    if (messages.idle()) {
      if (queue->remaining > 0) WaitForWork(queue);
      continue;
    }
    try {
      messages.Poll(&done);
    } catch (...) {
      Fail();
    }
    for (const MessageProgress::Done& message : done) {
      if (ring != nullptr) {
        Event event;
        event.command = message.command;
        event.step = trace_.step;
        event.schedule = trace_.schedule;
        event.start_ns = message.start_ns;
        event.end_ns = message.end_ns;
        event.bytes = message.bytes;
        ring->Push(event);
      }
      complete(message.command);
    }
    if (done.empty()) {
      patience.Next(messages.DueNs());
    } else {
      patience.Reset();
    }
    done.clear();
  }
  messaging_ns_.store(ThreadNs() - began_ns, std::memory_order_relaxed);
}

}  // namespace lanescope::exec
