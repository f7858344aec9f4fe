// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/queue_attempt.h"

#include <utility>

namespace lanescope::exec {

bool QueueAttempt::Begin(std::shared_ptr<AttemptResource> queue, const std::function<void()>& resume,
                         const std::function<AttemptResource::AttemptNumber()>& submit) {
  {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::kBegins;
    queue_ = std::move(queue);
    number_ = 0;
    error_.reset();
    tuple_.clear();
  }
  AttemptResource::AttemptNumber number = 0;
  try {
    number = submit();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::kIdle;
    throw;
  }
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::kFinished) return true;
  phase_ = Phase::kWaits;
  number_ = number;
  resume_ = resume;
  return false;
}

void QueueAttempt::Finish(const Error* error, QueueTuple tuple) {
  std::function<void()> resume;
  {
    const std::lock_guard lock(mutex_);
    if (error != nullptr) error_ = *error;
    tuple_ = std::move(tuple);
    resume = std::exchange(resume_, nullptr);
    phase_ = Phase::kFinished;
  }
  // Only an attempt that waits has somebody to wake. From here on the launch may be over.
  if (resume) resume();
}

bool QueueAttempt::in_progress() const {
  const std::lock_guard lock(mutex_);
  return phase_ != Phase::kIdle;
}

QueueTuple QueueAttempt::Take() {
  const std::lock_guard lock(mutex_);
  LANESCOPE_CHECK(phase_ == Phase::kFinished);
  phase_ = Phase::kIdle;
  queue_.reset();
  if (error_) throw *error_;
  return std::move(tuple_);
}

void QueueAttempt::Cancel() {
  std::shared_ptr<AttemptResource> queue;
  AttemptResource::AttemptNumber number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::kWaits) return;
    queue = queue_;
    number = number_;
  }
  queue->Cancel(number);
}

}  // namespace lanescope::exec
