// SPDX-License-Identifier: Apache-2.0
// A session as Python has it: stepped by one thread, closed by any, whatever the other is at.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "python/binding/handles.h"
#include "study/measure/recorded_run.h"
#include "traces/record/trace_writer.h"

namespace lanescope::python {

struct SessionSettings {
  std::string trace;  // empty: none
  std::optional<uint64_t> seed;
  double timeout_s = 0;
  std::string profile;
  bool any_algorithm = false;  // exec::DeviceOptions
};

// One run, step by step. Every method is called with the interpreter's lock.
class OpenSession {
 public:
  OpenSession(const PlacementHandle& placement, const SessionSettings& settings);
  // Leaves it; errors are lost, so call Close.
  ~OpenSession();
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;

  // Its fetches. Throws FailedPrecondition where it is closed or another thread runs a step, Cancelled where
  // it is closed meanwhile.
  nb::dict Step(const std::optional<nb::dict>& feeds, bool recorded);
  // Ends the step that runs, waits for it and completes the run. `error`: what cut the run short; empty: what
  // its last step failed of, if it did. A signal's handler that closes the session of the step in which it
  // runs only ends that. Idempotent.
  void Close(const std::string& error);
  // Leaves it once the program ends (calls.h). A step that does not end is left alone.
  void CloseAtEnd();

  // Lengths of the recorded steps that tell how long a step takes (RecordedRun::StepTimes).
  const std::vector<int64_t>& step_ns() const { return step_ns_; }
  int run_id() const { return run_id_; }
  // Once closed.
  bool oversubscribed() const { return ended_.oversubscribed; }
  const RunTiming& timing() const { return ended_.timing; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  class Turn;
  struct Ended {
    bool oversubscribed = false;
    RunTiming timing = {};
  };
  void RunStep(bool recorded);
  nb::dict Fetches() const;
  std::map<std::string, Tensor> FeedsOf(int64_t step) const;
  Error WhyCancelled(const Error& error);
  // Completes a run that nobody closed: it ended in order, unless it made no step.
  void Leave();
  Ended Finish();

  const PlacementHandle placement_;
  study::RecordedRunOptions options_;
  study::Cancellation cancellation_;

  std::mutex mutex_;  // guards these
  std::condition_variable idle_;
  bool busy_ = false;     // somebody has the turn
  bool closing_ = false;  // no other step begins
  std::thread::id stepping_;

  // Members for the one that has the turn.
  std::optional<std::map<std::string, Tensor>> fed_;
  std::vector<Tensor> fetches_;
  std::vector<std::string> told_;
  std::string error_;  // what the last step failed of
  size_t recorded_steps_ = 0;
  std::unique_ptr<study::RunCapture> capture_;
  std::unique_ptr<traces::TraceWriter> writer_;
  std::unique_ptr<study::RecordedRun> run_;  // null: closed

  // Values that Python reads, changed with its lock.
  std::vector<int64_t> step_ns_;
  std::vector<std::string> notes_;
  int run_id_ = 0;
  Ended ended_;
};

}  // namespace lanescope::python
