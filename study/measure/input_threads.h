// SPDX-License-Identifier: Apache-2.0
// Fills the queues of a run while its steps empty them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/inputs/run_spec.h"
#include "exec/run/coordinator.h"
#include "exec/run/queue_runner.h"
#include "exec/run/session.h"

namespace lanescope::study {

// The queue runners of a run configuration as threads. Not thread-safe. The session must outlive it.
class InputThreads {
 public:
  // Starts them.
  InputThreads(const std::vector<QueueRunnerSpec>& runners, exec::Session* session);
  // Stops them.
  ~InputThreads() { Stop(); }
  InputThreads(const InputThreads&) = delete;
  InputThreads& operator=(const InputThreads&) = delete;

  // Ends them, closes the session with them, and waits until they have ended. Idempotent.
  void Stop();
  // The error that ended one of them otherwise than as planned.
  std::optional<Error> error() const;

 private:
  exec::Session* const session_;
  bool stopped_ = false;
  std::vector<std::unique_ptr<exec::QueueRunner>> runners_;
  exec::Coordinator coordinator_;  // ends first
};

}  // namespace lanescope::study
