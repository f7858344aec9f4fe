// SPDX-License-Identifier: Apache-2.0
// The shares of a session's steps that run on devices of other processes. Internal to exec.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/record/event.h"
#include "exec/calls/remote_tasks.h"
#include "exec/run/executor.h"

namespace lanescope::exec {

// A compiled step, as its servers know it.
struct RemoteStep {
  std::vector<int> tasks;              // the others that have a part in it
  std::string request;                 // feeds, fetches and targets, as a frame
  int64_t commands = 0, messages = 0;  // of the whole schedule
  int64_t number = -1;                 // once they know it
};

// Thread-safe. What it is made of must outlive it.
class RemoteSession {
 public:
  RemoteSession(RemoteTasks* tasks, const Graph& graph, const Placement& placement, const Machine& machine,
                uint64_t seed);
  // The servers forget it.
  ~RemoteSession();
  RemoteSession(const RemoteSession&) = delete;
  RemoteSession& operator=(const RemoteSession&) = delete;

  // Lets the servers compile and load their shares, if they have not. Throws FailedPrecondition for a task
  // that serves nobody, and what they throw.
  void Ready(RemoteStep* step);
  // Events of recorded steps elsewhere since the last call, on this process' clock and in the numbers of
  // whole schedules.
  std::vector<Event> TakeEvents();

 private:
  friend class RemoteRun;
  void RequireServed(int task) const;
  int64_t OpenAt(int task);

  struct Opened {
    int64_t session = 0;
    int64_t clock_ahead_ns = 0;
  };

  RemoteTasks& tasks_;
  const Graph& graph_;
  const Placement& placement_;
  const Machine& machine_;
  const uint64_t seed_;
  std::mutex mutex_;
  std::map<int, Opened> opened_;  // by task
  int64_t steps_ = 0;
};

// One step in progress. Used by one thread, but for `stop`.
class RemoteRun {
 public:
  // The servers begin. `schedule`, `step`: its numbers in the trace; -1: it is not recorded.
  RemoteRun(RemoteSession* session, const RemoteStep& step, int schedule, int number);
  // Stops all that still runs elsewhere, and waits for it.
  ~RemoteRun();
  RemoteRun(const RemoteRun&) = delete;
  RemoteRun& operator=(const RemoteRun&) = delete;

  int first_tag() const { return first_tag_; }
  // Set when another share has failed: this process' has to end as well.
  const std::atomic<bool>& stop() const { return state_->stop; }
  // From the first beginning to the last end, once all have ended, by this process' clock. `wait` is called
  // again and again meanwhile, with one that has not; it may throw. Throws the error of a share.
  StepTimes Join(StepTimes own, const std::function<void(int task)>& wait);
  // Once joined: as RunResult has it.
  int64_t staleness() const { return staleness_; }
  // This process' share has failed with `own`: the others end. Which error says why the step failed.
  Error Fail(const Error& own);

 private:
  struct Part {
    int task = 0;
    int64_t call = 0;
    bool ended = false;
    StepTimes times;
    int64_t staleness = -1;
  };
  struct State {  // shared with the answers
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Part> parts;
    std::optional<Error> error;  // the first that is not a consequence of another one
    std::atomic<bool> stop{false};

    void End(size_t part, const Error* failure, std::string_view results, int64_t ahead_ns);
  };
  void StopAll();

  RemoteSession& session_;
  int first_tag_ = 0;  // of its messages
  int64_t staleness_ = -1;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace lanescope::exec
