// SPDX-License-Identifier: Apache-2.0
// How other processes take part in the steps of a session: not at all, as those that make the same calls, or
// as tasks that serve this one. Internal to exec.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/record/event.h"
#include "core/schedule/joint_parts.h"
#include "exec/run/executor.h"
#include "exec/run/session.h"

namespace lanescope::exec {

class PeerConnections;

// The parts that a session is made of; they must outlive its peers.
struct SessionParts {
  const Graph& graph;
  const Placement& placement;
  const Machine& machine;
  const IdVector<DeviceId, std::unique_ptr<Device>>& devices;
};

// A step on one of the session's runners.
struct StepInProgress {
  const PreparedStep& step;
  Executor* executor = nullptr;
  LoadedSchedule* loaded = nullptr;
  StepState* state = nullptr;
  int64_t number = 0;      // among the steps of the session
  int64_t timeout_ns = 0;  // 0: none
  const StepTrace& trace;

  // Runs the part that is this process' own.
  StepTimes RunHere(const std::atomic<bool>* stop = nullptr) const {
    return executor->Run(loaded, state, timeout_ns, trace, stop);
  }
};

// This class is a process alone. Share is called by one thread at a time, the rest by any.
class SessionPeers {
 public:
  explicit SessionPeers(const SessionParts& parts) : parts_(parts) {}
  virtual ~SessionPeers() = default;
  SessionPeers(const SessionPeers&) = delete;
  SessionPeers& operator=(const SessionPeers&) = delete;

  // Fills in, for a compiled step, what runs here and what the others are asked. Throws FailedPrecondition
  // for a device that runs nothing, and for GPUs that have a link by which nothing here sends.
  virtual void Share(const StepDescription& description, PreparedStep* step);
  // The others know the step and have loaded it.
  virtual void Ready(PreparedStep*) {}
  // Gives a step that was loaded for a runner who sends and receives; null: nobody need.
  virtual std::function<void(LoadedSchedule*)> ConnectionOf(const PreparedStep&) const { return nullptr; }
  // All but the fetches.
  virtual RunResult Run(const StepInProgress& running) { return {{}, running.RunHere()}; }
  // Session::TakeServedEvents.
  virtual std::vector<Event> TakeEvents() { return {}; }

 protected:
  void RequireRunnable(DeviceId device) const;
  void RequireQueues(const PreparedStep& step) const;
  // Connects GPUs of several tasks that work together; null: nothing can. Returns the joint launches that
  // have to meet: all of them where GPUs of several tasks do.
  std::vector<JointParts> RequireConnections(const Schedule& schedule, PeerConnections* connections) const;

  const SessionParts parts_;
};

// `job` must outlive them. `seed`: the session's.
std::unique_ptr<SessionPeers> PeersOf(const SessionParts& parts, const JobOptions& job, uint64_t seed);

}  // namespace lanescope::exec
