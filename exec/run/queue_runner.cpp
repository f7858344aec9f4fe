// SPDX-License-Identifier: Apache-2.0
#include "exec/run/queue_runner.h"

#include <algorithm>
#include <utility>

#include "core/record/input_record.h"

namespace lanescope::exec {

QueueRunner::QueueRunner(QueueRunnerSpec spec) : spec_(std::move(spec)) {
  if (spec_.queue.empty() || spec_.enqueue_ops.empty()) {
    Throw(Code::kInvalidArgument, "Must provide queue and enqueue_ops.");
  }
}

int QueueRunner::Start(Session* session, Coordinator* coordinator) {
  {
    const std::lock_guard lock(mutex_);
    if (running_ > 0) return 0;
    running_ = static_cast<int>(spec_.enqueue_ops.size());
    errors_.clear();
  }
  int started = 0;
  try {
    for (const std::string& op : spec_.enqueue_ops) {
      coordinator->Start(fmt::format("QueueRunnerThread-{}-{}", spec_.queue, op),
                         [=, this] { Fill(session, coordinator, op); });
      ++started;
    }
    if (!spec_.cancel_op.empty()) {
      coordinator->Start(fmt::format("QueueRunnerThread-{}-close_on_stop", spec_.queue),
                         [=, this] { CloseWhenStopped(session, coordinator); });
      ++started;
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    running_ -= static_cast<int>(spec_.enqueue_ops.size()) -
                std::min(started, static_cast<int>(spec_.enqueue_ops.size()));
    throw;
  }
  return started;
}

std::vector<Error> QueueRunner::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

void QueueRunner::Fill(Session* session, Coordinator* coordinator, const std::string& enqueue_op) {
  const RunRequest request{{}, {}, {enqueue_op}};
  const InputThread thread{0, enqueue_op, spec_.queue};
  try {
    while (!coordinator->ShouldStop()) session->Run(request, {.input = &thread});
    EndOne(session, false);
  } catch (const Error& error) {
    const auto& closed_on = spec_.closed_on;
    const bool source_ended = closed_on.empty() ? error.code() == Code::kOutOfRange
                                                : std::ranges::count(closed_on, error.code()) > 0;
    EndOne(session, source_ended);
    // An operation that a stop interrupts is no reason to stop.
    if (source_ended || (error.code() == Code::kCancelled && coordinator->ShouldStop())) return;
    {
      const std::lock_guard lock(mutex_);
      errors_.push_back(error);
    }
    throw;
  }
}

void QueueRunner::EndOne(Session* session, bool source_ended) {
  {
    const std::lock_guard lock(mutex_);
    if (--running_ > 0 || !source_ended) return;
  }
  if (spec_.close_op.empty()) return;
  try {
    session->Run({{}, {}, {spec_.close_op}});
  } catch (const Error&) {  // closed already
  }
}

void QueueRunner::CloseWhenStopped(Session* session, Coordinator* coordinator) {
  coordinator->WaitForStop();
  try {
    session->Run({{}, {}, {spec_.cancel_op}});
  } catch (const Error&) {  // as those that it ends would say
  }
}

}  // namespace lanescope::exec
