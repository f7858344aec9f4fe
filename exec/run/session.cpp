// SPDX-License-Identifier: Apache-2.0
#include "exec/run/session.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/machine/tasks.h"
#include "core/schedule/task_share.h"
#include "exec/kernels/shared_reader.h"
#include "exec/messages/transport.h"
#include "exec/run/remote_session.h"
#include "exec/run/session_peers.h"
#include "exec/run/step_runner.h"

namespace lanescope::exec {
namespace {

StepDescription Describe(const RunRequest& request) {
  StepDescription step;
  for (const auto& [name, tensor] : request.feeds) {
    TensorInfo info;
    info.dtype = tensor.dtype();
    info.shape = tensor.shape();
    step.feeds.emplace_back(name, info);
  }
  step.fetches = request.fetches;
  step.targets = request.targets;
  return step;
}

std::string CacheKey(const StepDescription& step) {
  std::string key;
  for (const auto& [name, info] : step.feeds)
    key += fmt::format("{}={}{};", name, DataTypeName(info.dtype), info.shape.ToString());
  for (const std::string& fetch : step.fetches) key += "|" + fetch;
  for (const std::string& target : step.targets) key += "^" + target;
  return key;
}

// The machine as far as this process has devices of it.
Machine SeenHere(const Machine& machine, const JobOptions& job) {
  return job.transport != nullptr ? SeenByTask(machine, job.transport->rank()) : machine;
}

}  // namespace

PreparedStep::PreparedStep() = default;
PreparedStep::~PreparedStep() = default;

// A runner of the session for as long as a step runs.
class Session::Lease {
 public:
  Lease(Session* session, const Schedule& schedule) : session_(session) {
    const std::lock_guard lock(session_->mutex_);
    runner_ = session_->TakeRunner(schedule);
  }
  ~Lease() {
    const std::lock_guard lock(session_->mutex_);
    runner_->is_taken = false;
    --session_->running_;
    session_->idle_.notify_all();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Executor* executor() const { return &runner_->executor(); }
  // Loads the step if the runner has not.
  StepRunner::LoadedStep& Ready(const PreparedStep& step) {
    const std::scoped_lock lock(session_->mutex_, session_->device_set_->mutex);
    return runner_->Ready(step.here, step.share.get(), session_->observer_,
                          session_->peers_->ConnectionOf(step));
  }

 private:
  Session* const session_;
  StepRunner* runner_;
};

Session::Session(const Graph& graph, const Placement& placement, const Machine& machine,
                 const SessionOptions& options)
    : graph_(graph),
      placement_(placement),
      machine_(machine),
      options_(options),
      device_set_(options.device_set != nullptr
                      ? options.device_set
                      : std::make_shared<DeviceSet>(SeenHere(machine, options.job), options.devices)),
      devices_(device_set_->devices),
      peers_(PeersOf({graph, placement, machine, devices_}, options_.job,
                     options.seed.value_or(kDefaultSessionSeed))),
      state_(std::make_unique<SessionState>()) {
  if (options.share_variables && (options.resources == nullptr || options.device_set == nullptr))
    Throw(Code::kInvalidArgument, "sessions that share variables need a resource manager and a device set");
  if (devices_.size() != machine.devices.size())
    Throw(Code::kInvalidArgument, "the device set was made of another machine");
  state_->device_set = device_set_;
  state_->share_variables = options.share_variables;
  state_->graph = &graph;
  state_->shared = options.resources != nullptr ? options.resources : std::make_shared<ResourceManager>();
  state_->seed = options.seed.value_or(kDefaultSessionSeed);
  AddRunner();
}

Session::~Session() {
  Close();
  const std::lock_guard lock(device_set_->mutex);
  runners_.clear();
  prepared_.clear();
}

void Session::Cancel() {
  bool any = false;
  for (const auto& entry : executors_) {
    Executor* const executor = entry.load(std::memory_order_acquire);
    if (executor == nullptr) break;
    if (!executor->is_running()) continue;
    executor->Cancel();
    any = true;
  }
  Executor* const first = executors_[0].load(std::memory_order_acquire);
  if (!any && first != nullptr) first->Cancel();
}

void Session::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  // A caller may hold a runner whose step has not started.
  while (running_ > 0) {
    for (const auto& runner : runners_) {
      if (runner->is_taken) runner->executor().Cancel();
    }
    idle_.wait(lock);
  }
}

StepRunner* Session::AddRunner() {
  runners_.push_back(
      std::make_unique<StepRunner>(graph_, machine_, devices_, state_.get(), options_.devices.graphs));
  StepRunner* const added = runners_.back().get();
  executors_[runners_.size() - 1].store(&added->executor(), std::memory_order_release);
  return added;
}

StepRunner* Session::TakeRunner(const Schedule& schedule) {
  if (closed_) Throw(Code::kCancelled, "Session has been closed.");
  StepRunner* found = nullptr;
  for (const auto& runner : runners_) {
    if (runner->is_taken) continue;
    if (found == nullptr || (!found->Has(&schedule) && runner->Has(&schedule))) found = runner.get();
  }
  if (found == nullptr) {
    if (runners_.size() == kMaxRunners) {
      Throw(Code::kResourceExhausted, "{} steps of a session run at the same time; no more may", kMaxRunners);
    }
    found = AddRunner();
  }
  found->is_taken = true;
  ++running_;
  return found;
}

PreparedStep& Session::Prepare(const RunRequest& request) { return PrepareStep(Describe(request)); }

PreparedStep& Session::PrepareStep(const StepDescription& description) {
  PreparedStep* step = nullptr;
  {
    const std::lock_guard lock(mutex_);
    step = &PrepareLocked(description);
  }
  peers_->Ready(step);
  // A fault of loading is reported now, and the first run need not load.
  Lease(this, *step->here).Ready(*step);
  return *step;
}

PreparedStep& Session::PrepareLocked(const StepDescription& description) {
  const std::string key = CacheKey(description);
  const auto found = prepared_.find(key);
  if (found != prepared_.end()) return *found->second;
  auto step = std::make_unique<PreparedStep>();
  for (const auto& [name, info] : description.feeds) step->feed_names.push_back(name);
  CompileRequest compile =
      MakeCompileRequest(graph_, description.feeds, description.fetches, description.targets);
  compile.fuse = options_.fuse;
  compile.host = TasksOf(machine_).hosts.at(static_cast<size_t>(options_.job.client));
  step->info = description.info != nullptr
                   ? description.info
                   : std::make_shared<const GraphInfo>(InferGraph(graph_, compile.feeds));
  step->schedule =
      std::make_shared<const Schedule>(Compile(graph_, *step->info, compile, placement_, machine_));
  peers_->Share(description, step.get());
  return *prepared_.emplace(key, std::move(step)).first->second;
}

RunResult Session::Run(const RunRequest& request, const RunOptions& options) {
  PreparedStep* step = nullptr;
  {
    const std::lock_guard lock(mutex_);
    step = &PrepareLocked(Describe(request));
  }
  peers_->Ready(step);
  return Run(*step, request.feeds, options);
}

void Session::CheckFeeds(const PreparedStep& step, const std::map<std::string, Tensor>& feeds,
                         std::vector<Tensor>* tensors) const {
  for (size_t i = 0; i < step.feed_names.size(); ++i) {
    const auto found = feeds.find(step.feed_names[i]);
    const Value& value = step.schedule->values[step.schedule->feeds[i]];
    if (found == feeds.end()) Throw(Code::kInvalidArgument, "no value is fed for '{}'", step.feed_names[i]);
    if (found->second.dtype() != value.dtype || !(found->second.shape() == value.shape)) {
      Throw(Code::kInvalidArgument, "'{}' is fed {}{}, but the step was prepared for {}{}",
            step.feed_names[i], DataTypeName(found->second.dtype()), found->second.shape().ToString(),
            DataTypeName(value.dtype), value.shape.ToString());
    }
    tensors->push_back(found->second);
  }
}

RunResult Session::Run(PreparedStep& step, const std::map<std::string, Tensor>& feeds,
                       const RunOptions& options) {
  std::vector<Tensor> tensors;
  CheckFeeds(step, feeds, &tensors);
  Lease runner(this, *step.here);
  const StepRunner::LoadedStep& loaded = runner.Ready(step);
  loaded.loaded->SetFeeds(tensors);
  const StepTrace trace = BeginTrace(step, options);
  RunResult result;
  try {
    result = peers_->Run({step, runner.executor(), loaded.loaded.get(), loaded.state.get(), steps_begun_++,
                          options.timeout_ns > 0 ? options.timeout_ns : options_.timeout_ns, trace});
  } catch (...) {
    EndTrace(trace, nullptr);
    throw;
  }
  EndTrace(trace, &result.times);
  ++steps_run_;
  const std::lock_guard lock(mutex_);  // a fetched variable is looked up
  for (size_t i = 0; i < step.here->fetches.size(); ++i)
    result.fetches.push_back(loaded.loaded->Fetch(static_cast<int>(i)));
  return result;
}

StepTimes Session::RunShare(PreparedStep& step, const ShareOptions& share) {
  Lease runner(this, *step.here);
  const StepRunner::LoadedStep& loaded = runner.Ready(step);
  const StepTrace trace = TraceOfShare(share);
  MessageProgress* const messages = loaded.loaded->messages();
  if (messages != nullptr) messages->BeginStepAt(share.first_tag);
  const StepTimes times =
      runner.executor()->Run(loaded.loaded.get(), loaded.state.get(), options_.timeout_ns, trace, share.stop);
  ++steps_run_;
  return times;
}

std::vector<Event> Session::TakeServedEvents() { return peers_->TakeEvents(); }

int64_t Session::records_read() const {
  int64_t records = 0;
  for (const auto& reader : state_->shared->All<SharedReader>()) records += reader->records_produced();
  return records;
}

ResourceManager& Session::resources() { return *state_->shared; }

void Session::Reset(ResourceManager* resources, const std::vector<std::string>& containers) {
  if (containers.empty()) resources->Cleanup(kDefaultContainer);
  for (const std::string& container : containers) resources->Cleanup(container);
}

Tensor Session::ReadVariable(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const NodeId node = graph_.FindNode(name);
  const auto found = state_->variables.find(node);
  if (!node.exists() || found == state_->variables.end())
    Throw(Code::kNotFound, "there is no variable '{}' in this session", name);
  const Variable& variable = found->second->variable;
  if (!variable.initialized)
    Throw(Code::kFailedPrecondition, "Attempting to use uninitialized value {}", name);
  Tensor tensor(variable.tensor.dtype, variable.tensor.shape);
  devices_[found->second->device()]->Download(tensor.raw_data(), variable.tensor.data, tensor.ByteSize());
  return tensor;
}

}  // namespace lanescope::exec
