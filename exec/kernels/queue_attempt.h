// SPDX-License-Identifier: Apache-2.0
// A launch that is one attempt at a queue or an accumulator.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "exec/device/kernel.h"
#include "exec/resources/queue.h"

namespace lanescope::exec {

// An attempt and what came of it, for kernels that wait. Begin and Take are called by the launch,
// Cancel from any thread.
class QueueAttempt {
 public:
  // Submits an attempt; its number is what `submit` returns, and its outcome goes to Finish.
  // True: it has finished already. False: `resume` is called when it has.
  bool Begin(std::shared_ptr<AttemptResource> queue, const std::function<void()>& resume,
             const std::function<AttemptResource::AttemptNumber()>& submit);
  // The answer; from any thread, once.
  void Finish(const Error* error, QueueTuple tuple = {});
  bool in_progress() const;
  // The result of an attempt that has finished; throws its error. Ready for the next one.
  QueueTuple Take();
  void Cancel();

 private:
  enum class Phase { kIdle, kBegins, kWaits, kFinished };

  mutable std::mutex mutex_;
  Phase phase_ = Phase::kIdle;
  std::shared_ptr<AttemptResource> queue_;
  AttemptResource::AttemptNumber number_ = 0;
  std::function<void()> resume_;
  std::optional<Error> error_;
  QueueTuple tuple_;
};

}  // namespace lanescope::exec
