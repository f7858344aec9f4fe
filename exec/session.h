// A session: one graph under one placement on one machine, with the variables that live from run to run.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/graph/tensor.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/record/launch_observer.h"
#include "core/record/recorder.h"
#include "core/schedule/schedule.h"
#include "exec/device.h"
#include "exec/device_options.h"
#include "exec/executor.h"
#include "exec/loaded_schedule.h"
#include "exec/transport.h"

namespace lanescope::exec {

// What a run feeds, fetches and triggers. Names are "node" or "node:output"; targets are nodes run for their
// effect.
struct RunRequest {
  std::map<std::string, Tensor> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
};

// The processes that run a step together: each is the task of its rank, and all make the same calls.
struct JobOptions {
  Transport* transport = nullptr;  // null: this process plays all tasks
  // By rank: what its clock (NowNs) is ahead of the first one's, in ns.
  std::vector<int64_t> ahead_ns;
};

struct SessionOptions {
  uint64_t seed = kDefaultSessionSeed;  // of random ops that have no seeds of their own
  DeviceOptions devices;
  JobOptions job;          // the transport must outlive the session
  int64_t timeout_ns = 0;  // of runs that say none themselves; 0: none
};

struct RunOptions {
  int64_t timeout_ns = 0;  // 0: the session's; on expiry DeadlineExceeded, and nothing is left running
};

struct RunResult {
  std::vector<Tensor> fetches;  // of a job: in its first process
  StepTimes times;              // of a job: from when the first process began until the last one ended
};

// A compiled and loaded step, cached by (feed shapes, fetches, targets). Owned by the session.
struct PreparedStep {
  std::shared_ptr<const GraphInfo> info;
  std::shared_ptr<const Schedule> schedule;
  std::shared_ptr<const Schedule> here;    // what of it runs in this process
  std::shared_ptr<const TaskShare> share;  // that, where there are others; else null
  std::unique_ptr<LoadedSchedule> loaded;
  std::unique_ptr<StepState> state;
  std::vector<std::string> feed_names;  // in the schedule's order
  int trace_number = -1;                // number of the schedule in the trace, once it is recorded
};

// Not thread-safe, except Cancel. Graph, placement and machine must outlive the session.
class Session {
 public:
  Session(const Graph& graph, const Placement& placement, const Machine& machine,
          const SessionOptions& options = {});
  ~Session();

  // Compiles, loads and caches. Throws what Compile throws, Unimplemented for ops without a kernel, NotFound
  // for a name.
  PreparedStep& Prepare(const RunRequest& request);
  RunResult Run(const RunRequest& request, const RunOptions& options = {});
  RunResult Run(PreparedStep& step, const std::map<std::string, Tensor>& feeds,
                const RunOptions& options = {});

  // From now on commands of runs of `step` go to the recorder under this schedule number; null stops.
  void Record(Recorder* recorder, PreparedStep* step, int schedule_number);
  // Suspends and resumes recording, for steps that only warm caches up.
  void SetRecording(bool on) { recording_ = on; }
  // Who learns which command the activity of streams belongs to: their commands are then not timed by the
  // session itself. Null: nobody. Between runs only; must outlive the session or be taken off.
  void Observe(LaunchObserver* observer);
  // Why graphs are not used although they were asked for; empty where they are, or nothing was asked.
  std::string graph_problem() const;
  // Ends the run in progress with Cancelled. From any thread or a signal handler.
  void Cancel() { executor_->Cancel(); }

  // The value of a variable. Throws NotFound, FailedPrecondition when it is uninitialised.
  Tensor ReadVariable(const std::string& name) const;
  int64_t steps_run() const { return steps_run_; }

 private:
  void GrowArenas(const Schedule& schedule);
  void RequireRunnable(DeviceId device) const;
  StepTimes JoinTimes(const PreparedStep& step, int64_t number, const StepTimes& own, int64_t timeout_ns);
  std::string CacheKey(const RunRequest& request) const;

  const Graph& graph_;
  const Placement& placement_;
  const Machine& machine_;
  const SessionOptions options_;
  IdVector<DeviceId, std::unique_ptr<Device>> devices_;
  SessionState state_;
  IdVector<DeviceId, std::byte*> arenas_;  // one for all schedules, since steps do not overlap
  IdVector<DeviceId, int64_t> arena_bytes_;
  int64_t arena_generation_ = 0;
  std::map<std::string, std::unique_ptr<PreparedStep>> prepared_;
  std::unique_ptr<Executor> executor_;
  LaunchObserver* observer_ = nullptr;
  Recorder* recorder_ = nullptr;
  EventRing* step_ring_ = nullptr;
  int recorded_steps_ = 0;
  bool recording_ = true;
  int64_t steps_run_ = 0;
  int64_t steps_begun_ = 0;
};

}  // namespace lanescope::exec
