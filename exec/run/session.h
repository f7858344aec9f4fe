// SPDX-License-Identifier: Apache-2.0
// A session: one graph under one placement on one machine, with the variables that live from run to run.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/graph/tensor.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/schedule/schedule.h"
#include "exec/device/device_options.h"
#include "exec/run/step_times.h"

namespace lanescope {
class EventRing;
class InputLog;
class LaunchObserver;
class Recorder;
struct Event;
struct InputThread;
struct TaskShare;
}  // namespace lanescope

namespace lanescope::exec {

class Device;
class DeviceSet;
class Executor;
class RemoteTasks;
class ResourceManager;
class SessionPeers;
class StepRunner;
class Transport;
struct RemoteStep;
struct SessionState;
struct StepTrace;

// Feeds, fetches and targets of a run. Names are "node" or "node:output"; targets are nodes run for their
// effect.
struct RunRequest {
  std::map<std::string, Tensor> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
};

// Feeds, fetches and targets of a step, without values.
struct StepDescription {
  std::vector<std::pair<std::string, TensorInfo>> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  std::shared_ptr<const GraphInfo> info = nullptr;  // of the graph with these feeds; null: it is inferred
};

// The processes that run a step together: each is the task of its rank. Either all make the same calls, or
// one alone makes them and the others serve it (exec/serve/task_server.h).
struct JobOptions {
  Transport* transport = nullptr;  // null: this process plays all tasks
  // By rank: what its clock (NowNs) is ahead of the first one's, in ns.
  std::vector<int64_t> ahead_ns;
  // The task that feeds and fetches.
  int client = 0;
  // Not null: this process is that task, and these serve it. Must outlive the session.
  RemoteTasks* servers = nullptr;
  // The machine is what JoinGpus gave all processes, which make the same calls: GPUs of different tasks that
  // have a link send to each other by it. A session whose step was given up is done with.
  bool joins_gpus = false;
};

struct SessionOptions {
  // Sessions with the same manager share the resources that graphs name (queues, readers); null: a
  // manager of its own.
  std::shared_ptr<ResourceManager> resources = nullptr;
  // The devices that it runs on with the sessions that have the same set, made of the same machine or of what
  // one of its tasks sees (SeenByTask); null: its own.
  std::shared_ptr<DeviceSet> device_set = nullptr;
  // Where it has both: variables too are those of all such sessions, by container and name, and outlive them
  // until their container is emptied (Session::Reset).
  bool share_variables = false;
  // The seed of random ops that have none of their own; none: always the same one.
  std::optional<uint64_t> seed = std::nullopt;
  int64_t timeout_ns = 0;  // of runs that have none of their own; 0: none
  bool fuse = false;       // nodes that can share a launch do (CompileRequest::fuse)
  DeviceOptions devices = {};
  JobOptions job = {};  // the transport must outlive the session
};

// A client's options for a step whose share here it asks for.
struct ShareOptions {
  int first_tag = 0;                        // of its messages
  int schedule = -1, step = -1;             // their numbers in the client's trace; -1: not recorded
  const std::atomic<bool>* stop = nullptr;  // ends it, once set
};

struct RunOptions {
  // 0: the session's; on expiry DeadlineExceeded, nothing is left running, and what still waited has taken
  // nothing.
  int64_t timeout_ns = 0;
  // Not null: the run is one of a thread that fills a queue, which this stands for.
  const InputThread* input = nullptr;
};

struct RunResult {
  std::vector<Tensor> fetches;  // of a job: in its first process
  StepTimes times;              // of a job: from when the first process began until the last one ended
  // For a step that changes variables of tasks that serve this one: how many other steps changed some there
  // between its beginning and its end; the most of any task. -1: it changes none.
  int64_t staleness = -1;
};

// A compiled step, cached by (feed shapes, fetches, targets). Owned by the session.
struct PreparedStep {
  PreparedStep();
  ~PreparedStep();

  std::shared_ptr<const GraphInfo> info;
  std::shared_ptr<const Schedule> schedule;
  std::shared_ptr<const Schedule> here;    // what of it runs in this process
  std::shared_ptr<const TaskShare> share;  // that, where there are others; else null
  std::unique_ptr<RemoteStep> elsewhere;   // what servers are asked of it; null: there are none
  std::vector<std::string> feed_names;     // in the schedule's order
  int trace_number = -1;                   // number of the schedule in the trace, once it is recorded
};

// Prepare, Run, Record, SetRecording, Cancel, Close and ReadVariable may be called from any thread: steps
// that run at the same time share devices and variables, and nothing orders their accesses to these. The rest
// is for when no step runs. Graph, placement and machine must outlive the session.
class Session {
 public:
  Session(const Graph& graph, const Placement& placement, const Machine& machine,
          const SessionOptions& options = {});
  // Closes it.
  ~Session();

  // Compiles, loads and caches. Throws what Compile throws, Unimplemented for ops without a kernel, NotFound
  // for a name.
  PreparedStep& Prepare(const RunRequest& request);
  PreparedStep& PrepareStep(const StepDescription& step);
  RunResult Run(const RunRequest& request, const RunOptions& options = {});
  // Processes that make the same calls get FailedPrecondition once a step of theirs was given up here, for
  // whatever reason; their transport serves no other step.
  RunResult Run(PreparedStep& step, const std::map<std::string, Tensor>& feeds,
                const RunOptions& options = {});
  // This process' share of another one's step, which feeds and fetches.
  StepTimes RunShare(PreparedStep& step, const ShareOptions& share);

  // From now on commands of runs of `step` go to the recorder under this schedule number; null stops.
  void Record(Recorder* recorder, PreparedStep* step, int schedule_number);
  // Suspends and resumes recording, for steps that only warm caches up.
  void SetRecording(bool on);
  // Whether the commands of recorded steps are timed; of those that are not only their ends are known
  // (RunResult), and the recorder gets nothing. From the next step on.
  void SetTiming(bool on);
  // From now on what recorded runs and those of input threads wait for goes there, and how full queues are;
  // null stops. From any thread; the log must outlive the runs in progress.
  void LogInput(InputLog* log);
  // The observer learns which command streams' activity belongs to, in steps whose commands are timed, which
  // the session itself then does not time. Null: nobody. Between runs only; must outlive the session or be
  // taken off.
  void Observe(LaunchObserver* observer);
  // Why graphs are not used although they were asked for; empty where they are, or nothing was asked.
  std::string graph_problem() const;
  // Ends the runs in progress with Cancelled, or the next one where there is none. From any thread or a
  // signal handler.
  void Cancel();
  // Ends the runs in progress with Cancelled, waits for them, and refuses others.
  void Close();

  // The value of a variable. Throws NotFound, FailedPrecondition when it is uninitialised.
  Tensor ReadVariable(const std::string& name) const;
  int64_t steps_run() const { return steps_run_.load(); }
  // Records that the readers in its resources have read.
  int64_t records_read() const;
  // Empties containers (none: the default one): what they hold, variables, queues and readers, is gone for
  // sessions made from now on.
  static void Reset(ResourceManager* resources, const std::vector<std::string>& containers);
  // Events of recorded steps in tasks that serve this one, since the last call: in the numbers of
  // the whole schedule and on this process' clock.
  std::vector<Event> TakeServedEvents();
  // The resources that its graph names, maybe shared with other sessions.
  ResourceManager& resources();

 private:
  static constexpr size_t kMaxRunners = 1024;

  class Lease;
  PreparedStep& PrepareLocked(const StepDescription& step);
  void CheckFeeds(const PreparedStep& step, const std::map<std::string, Tensor>& feeds,
                  std::vector<Tensor>* tensors) const;
  StepRunner* AddRunner();
  StepRunner* TakeRunner(const Schedule& schedule);
  StepTrace BeginTrace(const PreparedStep& step, const RunOptions& options);
  StepTrace TraceOfShare(const ShareOptions& share);
  void EndTrace(const StepTrace& trace, const StepTimes* times);
  void LogFills(InputLog* log);

  const Graph& graph_;
  const Placement& placement_;
  const Machine& machine_;
  const SessionOptions options_;
  const std::shared_ptr<DeviceSet> device_set_;
  const IdVector<DeviceId, std::unique_ptr<Device>>& devices_;
  const std::unique_ptr<SessionPeers> peers_;
  const std::unique_ptr<SessionState> state_;
  // Guards what follows and, with the device set's (taken after it), the devices' memory and the loading of
  // steps.
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;
  bool closed_ = false;
  std::map<std::string, std::unique_ptr<PreparedStep>> prepared_;
  std::vector<std::unique_ptr<StepRunner>> runners_;
  // The runners, for those who may not lock: a runner is there once it is counted.
  std::array<std::atomic<Executor*>, kMaxRunners> executors_{};
  LaunchObserver* observer_ = nullptr;
  Recorder* recorder_ = nullptr;
  EventRing* step_ring_ = nullptr;
  int recorded_steps_ = 0;
  bool recording_ = true;
  bool timing_ = true;
  InputLog* input_log_ = nullptr;
  std::atomic<int64_t> steps_run_{0};
  std::atomic<int64_t> steps_begun_{0};
};

}  // namespace lanescope::exec
