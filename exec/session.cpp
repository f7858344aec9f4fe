#include "exec/session.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/machine/tasks.h"
#include "core/schedule/task_share.h"
#include "exec/backend.h"
#include "exec/kernels/queue_handle.h"
#include "exec/kernels/shared_reader.h"
#include "exec/step_exchange.h"
#include "exec/step_runner.h"
#include "exec/stream_program.h"

namespace lanescope::exec {
namespace {

CompileRequest CompileRequestOf(const Graph& graph, const RunRequest& request,
                                std::vector<std::string>* feed_names) {
  std::vector<std::pair<std::string, TensorInfo>> feeds;
  for (const auto& [name, tensor] : request.feeds) {
    TensorInfo info;
    info.dtype = tensor.dtype();
    info.shape = tensor.shape();
    feeds.emplace_back(name, info);
    feed_names->push_back(name);
  }
  return MakeCompileRequest(graph, feeds, request.fetches, request.targets);
}

// Links of a machine that host threads play are emulated, those between its tasks too.
bool IsPaced(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const DeviceSpec& device) { return device.kind == DeviceKind::kVirtual; });
}

}  // namespace

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

  StepRunner* operator->() const { return runner_; }

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
                      : std::make_shared<DeviceSet>(options.job.transport != nullptr
                                                        ? SeenByTask(machine, options.job.transport->rank())
                                                        : machine,
                                                    options.devices)),
      devices_(device_set_->devices) {
  if (options.share_variables && (options.resources == nullptr || options.device_set == nullptr))
    Throw(Code::kInvalidArgument, "sessions that share variables need a resource manager and a device set");
  if (devices_.size() != machine.devices.size())
    Throw(Code::kInvalidArgument, "the device set was made of another machine");
  state_.device_set = device_set_;
  state_.share_variables = options.share_variables;
  state_.graph = &graph;
  state_.shared = options.resources != nullptr ? options.resources : std::make_shared<ResourceManager>();
  state_.seed = options.seed;
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
  // Who has taken a runner may not have begun yet.
  while (running_ > 0) {
    for (const auto& runner : runners_) {
      if (runner->is_taken) runner->executor().Cancel();
    }
    idle_.wait(lock);
  }
}

StepRunner* Session::AddRunner() {
  runners_.push_back(
      std::make_unique<StepRunner>(graph_, machine_, devices_, &state_, options_.devices.graphs));
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

std::string Session::CacheKey(const RunRequest& request) const {
  std::string key;
  for (const auto& [name, tensor] : request.feeds) {
    key += fmt::format("{}={}{};", name, DataTypeName(tensor.dtype()), tensor.shape().ToString());
  }
  for (const std::string& fetch : request.fetches) key += "|" + fetch;
  for (const std::string& target : request.targets) key += "^" + target;
  return key;
}

void Session::RequireRunnable(DeviceId device) const {
  if (devices_[device] != nullptr) return;
  Throw(Code::kFailedPrecondition,
        "{} is modelled and cannot run anything; use `simulate`, or another --machine",
        machine_.device(device).local_name());
}

// What a step that is loaded for a runner needs where it has a part alone: who sends and receives.
std::function<void(LoadedSchedule*, Pacer*)> Session::ConnectionOf(const PreparedStep& step) const {
  if (options_.job.transport == nullptr) return nullptr;
  return [this, share = step.share](LoadedSchedule* loaded, Pacer* pacer) {
    loaded->Connect(share, options_.job.transport, IsPaced(machine_) ? pacer : nullptr);
  };
}

PreparedStep& Session::Prepare(const RunRequest& request) {
  PreparedStep* step = nullptr;
  {
    const std::lock_guard lock(mutex_);
    step = &PrepareLocked(request);
  }
  // What cannot be loaded is said now, and the first run need not load.
  const Lease runner(this, *step->here);
  const std::scoped_lock lock(mutex_, device_set_->mutex);
  runner->Ready(step->here, observer_, ConnectionOf(*step));
  return *step;
}

PreparedStep& Session::PrepareLocked(const RunRequest& request) {
  const std::string key = CacheKey(request);
  const auto found = prepared_.find(key);
  if (found != prepared_.end()) return *found->second;
  auto step = std::make_unique<PreparedStep>();
  const CompileRequest compile = CompileRequestOf(graph_, request, &step->feed_names);
  step->info = std::make_shared<const GraphInfo>(InferGraph(graph_, compile.feeds));
  step->schedule =
      std::make_shared<const Schedule>(Compile(graph_, *step->info, compile, placement_, machine_));
  Transport* const transport = options_.job.transport;
  if (transport == nullptr) {
    for (const Value& value : step->schedule->values) RequireRunnable(value.device);
    step->here = step->schedule;
  } else {
    step->share =
        std::make_shared<const TaskShare>(ShareOfTask(*step->schedule, TasksOf(machine_), transport->rank()));
    step->here = std::shared_ptr<const Schedule>(step->share, &step->share->schedule);
  }
  for (const Queue& queue : step->here->queues) RequireRunnable(queue.device);
  return *prepared_.emplace(key, std::move(step)).first->second;
}

RunResult Session::Run(const RunRequest& request, const RunOptions& options) {
  PreparedStep* step = nullptr;
  {
    const std::lock_guard lock(mutex_);
    step = &PrepareLocked(request);
  }
  return Run(*step, request.feeds, options);
}

RunResult Session::Run(PreparedStep& step, const std::map<std::string, Tensor>& feeds,
                       const RunOptions& options) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < step.feed_names.size(); ++i) {
    const auto found = feeds.find(step.feed_names[i]);
    const Value& value = step.schedule->values[step.schedule->feeds[i]];
    if (found == feeds.end()) Throw(Code::kInvalidArgument, "no value is fed for '{}'", step.feed_names[i]);
    if (found->second.dtype() != value.dtype || !(found->second.shape() == value.shape)) {
      Throw(Code::kInvalidArgument, "'{}' is fed {}{}, but the step was prepared for {}{}",
            step.feed_names[i], DataTypeName(found->second.dtype()), found->second.shape().ToString(),
            DataTypeName(value.dtype), value.shape.ToString());
    }
    tensors.push_back(found->second);
  }
  const Lease runner(this, *step.here);
  StepRunner::LoadedStep* loaded = nullptr;
  {
    const std::scoped_lock lock(mutex_, device_set_->mutex);
    loaded = &runner->Ready(step.here, observer_, ConnectionOf(step));
  }
  loaded->loaded->SetFeeds(tensors);
  const Executor::Trace trace = BeginTrace(step, options.input);
  const int64_t timeout_ns = options.timeout_ns > 0 ? options.timeout_ns : options_.timeout_ns;
  const int64_t number = steps_begun_++;
  if (loaded->loaded->messages() != nullptr) loaded->loaded->messages()->BeginStep(number);
  RunResult result;
  try {
    result.times = runner->executor().Run(loaded->loaded.get(), loaded->state.get(), timeout_ns, trace);
    if (options_.job.transport != nullptr)
      result.times = JoinTimes(step, runner->executor(), number, result.times, timeout_ns);
  } catch (...) {
    EndTrace(trace, nullptr);
    throw;
  }
  EndTrace(trace, &result.times);
  ++steps_run_;
  const std::lock_guard lock(mutex_);  // a fetched variable is looked up
  for (size_t i = 0; i < step.here->fetches.size(); ++i)
    result.fetches.push_back(loaded->loaded->Fetch(static_cast<int>(i)));
  return result;
}

// No process begins a step before all have ended the one before.
StepTimes Session::JoinTimes(const PreparedStep& step, const Executor& executor, int64_t number,
                             const StepTimes& own, int64_t timeout_ns) {
  const auto ahead = [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    return r < options_.job.ahead_ns.size() ? options_.job.ahead_ns[r] : 0;
  };
  Transport& transport = *options_.job.transport;
  const std::vector<StepTimes> all =
      ExchangeTimes(&transport, own, EndOfStepTag(*step.share, number), [&](int missing) {
        if (executor.interrupted()) Throw(Code::kCancelled, "the step was cancelled");
        if (timeout_ns > 0 && NowNs() - own.start_ns >= timeout_ns)
          Throw(Code::kDeadlineExceeded, "the step took longer than {} ms, and {} has not ended it",
                timeout_ns / 1000000, transport.NameOf(missing));
      });
  StepTimes joined = own;
  for (int rank = 0; rank < transport.size(); ++rank) {
    const StepTimes& times = all[static_cast<size_t>(rank)];
    const int64_t shift = ahead(transport.rank()) - ahead(rank);
    joined.start_ns = std::min(joined.start_ns, times.start_ns + shift);
    joined.end_ns = std::max(joined.end_ns, times.end_ns + shift);
  }
  return joined;
}

Executor::Trace Session::BeginTrace(const PreparedStep& step, const InputThread* input) {
  const std::lock_guard lock(mutex_);
  if (input != nullptr) {
    if (input_log_ == nullptr) return {};
    const int thread = input_log_->ThreadOf(input, input->op, input->queue);
    return {.waits = input_log_, .thread = thread, .waiting_step = input_log_->BeginStep(thread)};
  }
  if (recorder_ == nullptr || !recording_ || step.trace_number < 0) return {};
  const int number = recorded_steps_++;
  return {recorder_, step.trace_number, number, input_log_, kNoInputThread, number};
}

// Without times the step failed: where no other one began meanwhile, the next takes its number.
void Session::EndTrace(const Executor::Trace& trace, const StepTimes* times) {
  if (trace.waits != nullptr && times != nullptr) {
    if (trace.thread != kNoInputThread)
      trace.waits->EndStep(trace.thread, trace.waiting_step, times->start_ns, times->end_ns);
    if (trace.waits->FillIsDue(times->end_ns)) LogFills(trace.waits);
  }
  if (trace.recorder == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (times == nullptr) {
    if (recorded_steps_ == trace.step + 1) --recorded_steps_;
    return;
  }
  Event event;
  event.kind = EventKind::kStep;
  event.start_ns = times->start_ns;
  event.end_ns = times->end_ns;
  event.step = trace.step;
  event.schedule = trace.schedule;
  step_ring_->Push(event);
}

void Session::LogFills(InputLog* log) {
  for (const auto& queue : state_.shared->All<TensorQueue>()) {
    const QueueSpec& spec = queue->spec();
    log->Fill({0, QueueTitle(queue->name()), spec.capacity, spec.min_after_dequeue}, NowNs(), queue->size());
  }
}

void Session::LogInput(InputLog* log) {
  const std::lock_guard lock(mutex_);
  input_log_ = log;
}

void Session::SetRecording(bool on) {
  const std::lock_guard lock(mutex_);
  recording_ = on;
}

void Session::Record(Recorder* recorder, PreparedStep* step, int schedule_number) {
  const std::lock_guard lock(mutex_);
  if (recorder != recorder_) {
    // One that runs now runs a step that is not recorded.
    for (const auto& runner : runners_) {
      if (!runner->is_taken) runner->executor().ForgetRecorder();
    }
    recorder_ = recorder;
    step_ring_ = recorder != nullptr ? recorder->NewRing() : nullptr;
    recorded_steps_ = 0;
    for (auto& [key, prepared] : prepared_) prepared->trace_number = -1;
  }
  if (step != nullptr) step->trace_number = schedule_number;
}

void Session::Observe(LaunchObserver* observer) {
  observer_ = observer;
  for (const auto& runner : runners_) {
    for (const auto& [schedule, step] : runner->steps()) {
      if (step.loaded->program() != nullptr) step.loaded->program()->SetObserver(observer);
    }
  }
}

std::string Session::graph_problem() const {
  for (const auto& runner : runners_) {
    for (const auto& [schedule, step] : runner->steps()) {
      const StreamProgram* program = step.loaded->program();
      if (program != nullptr && !program->graph_problem().empty()) return program->graph_problem();
    }
  }
  return "";
}

int64_t Session::records_read() const {
  int64_t records = 0;
  for (const auto& reader : state_.shared->All<SharedReader>()) records += reader->records_produced();
  return records;
}

void Session::Reset(ResourceManager* resources, const std::vector<std::string>& containers) {
  if (containers.empty()) resources->Cleanup(kDefaultContainer);
  for (const std::string& container : containers) resources->Cleanup(container);
}

Tensor Session::ReadVariable(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const NodeId node = graph_.FindNode(name);
  const auto found = state_.variables.find(node);
  if (!node.exists() || found == state_.variables.end())
    Throw(Code::kNotFound, "there is no variable '{}' in this session", name);
  const Variable& variable = found->second->variable;
  if (!variable.initialized)
    Throw(Code::kFailedPrecondition, "Attempting to use uninitialized value {}", name);
  Tensor tensor(variable.tensor.dtype, variable.tensor.shape);
  devices_[found->second->device()]->Download(tensor.raw_data(), variable.tensor.data, tensor.ByteSize());
  return tensor;
}

}  // namespace lanescope::exec
