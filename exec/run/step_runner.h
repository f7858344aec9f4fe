// SPDX-License-Identifier: Apache-2.0
// Everything that a step needs while it runs: threads, memory for its values, its commands bound to
// both. Internal to exec.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/graph/graph.h"
#include "core/machine/machine.h"
#include "exec/device/device.h"
#include "exec/run/executor.h"
#include "exec/run/loaded_schedule.h"

namespace lanescope::exec {

// A session has as many as steps run at the same time; they share its devices and variables. Ready may be
// called by one thread of all that share the devices at a time, Cancel by any; the rest by whoever has the
// runner. What it refers to must outlive it.
class StepRunner {
 public:
  StepRunner(const Graph& graph, const Machine& machine,
             const IdVector<DeviceId, std::unique_ptr<Device>>& devices, SessionState* state,
             bool record_graphs);
  // As Ready: by one thread of all that share the devices at a time.
  ~StepRunner();

  struct LoadedStep {
    std::unique_ptr<LoadedSchedule> loaded;
    std::unique_ptr<StepState> state;
  };
  // The step, ready to run here; loaded at its first use, and then given to `connect`, if there is one.
  // `share`: of one task, which it is; else null. `observer`: who learns what streams are given.
  LoadedStep& Ready(const std::shared_ptr<const Schedule>& schedule, const TaskShare* share,
                    LaunchObserver* observer, const std::function<void(LoadedSchedule*)>& connect);
  bool Has(const Schedule* schedule) const { return steps_.contains(schedule); }

  Executor& executor() { return executor_; }
  const std::map<const Schedule*, LoadedStep>& steps() const { return steps_; }

  // Guarded by the session.
  bool is_taken = false;

 private:
  void GrowArenas(const Schedule& schedule);

  const Graph& graph_;
  const Machine& machine_;
  const IdVector<DeviceId, std::unique_ptr<Device>>& devices_;
  SessionState* const state_;
  const bool record_graphs_;
  IdVector<DeviceId, std::byte*> arenas_;  // one for all schedules, since they do not overlap here
  IdVector<DeviceId, int64_t> arena_bytes_;
  int64_t arena_generation_ = 0;
  std::map<const Schedule*, LoadedStep> steps_;
  Executor executor_;
};

}  // namespace lanescope::exec
