// SPDX-License-Identifier: Apache-2.0
// Threads that fill a queue while other steps empty it.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/inputs/run_spec.h"
#include "exec/run/coordinator.h"
#include "exec/run/session.h"

namespace lanescope::exec {

// Runs each of its enqueue ops again and again until a stop is requested or its source ends: an error of the
// spec's `closed_on`, as OutOfRange of a counter or of a queue that it reads. The last one to end so closes
// the queue, so that whoever reads it gets what is left and then OutOfRange. Another error is a request to
// stop. Thread-safe; session and coordinator must outlive its threads, and the runner too.
class QueueRunner {
 public:
  // Throws InvalidArgument for one without a queue or ops.
  explicit QueueRunner(QueueRunnerSpec spec);

  // Starts a thread for each op, and one that cancels what waits for the queue once a stop is requested.
  // Returns how many; none, while those of an earlier call run with the same session.
  int Start(Session* session, Coordinator* coordinator);
  // Errors that ended one of its threads otherwise than as planned.
  std::vector<Error> errors() const;

 private:
  void Fill(Session* session, Coordinator* coordinator, const std::string& enqueue_op);
  void CloseWhenStopped(Session* session, Coordinator* coordinator);
  void EndOne(Session* session, bool source_ended);

  const QueueRunnerSpec spec_;
  mutable std::mutex mutex_;
  int running_ = 0;
  std::vector<Error> errors_;
};

}  // namespace lanescope::exec
