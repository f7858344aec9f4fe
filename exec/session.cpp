#include "exec/session.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/machine/tasks.h"
#include "core/schedule/task_share.h"
#include "exec/backend.h"
#include "exec/step_exchange.h"
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

Session::Session(const Graph& graph, const Placement& placement, const Machine& machine,
                 const SessionOptions& options)
    : graph_(graph),
      placement_(placement),
      machine_(machine),
      options_(options),
      devices_(MakeDevices(
          options.job.transport != nullptr ? SeenByTask(machine, options.job.transport->rank()) : machine,
          options.devices)),
      executor_(std::make_unique<Executor>(machine)) {
  state_.seed = options.seed;
  arenas_.assign(devices_.size(), nullptr);
  arena_bytes_.assign(devices_.size(), 0);
  for (const auto& device : devices_) {
    if (device != nullptr) device->team().StopOn(&executor_->cancelled());
  }
}

Session::~Session() {
  executor_.reset();
  prepared_.clear();
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

void Session::GrowArenas(const Schedule& schedule) {
  for (const DeviceId d : devices_.ids()) {
    const int64_t bytes = schedule.arena_bytes[d];
    if (bytes <= arena_bytes_[d]) continue;
    if (arenas_[d] != nullptr) devices_[d]->Free(arenas_[d]);
    // Should the device not have the memory, it has no arena now, and the next step brings it back.
    arenas_[d] = nullptr;
    arena_bytes_[d] = 0;
    ++arena_generation_;
    arenas_[d] = static_cast<std::byte*>(devices_[d]->Allocate(bytes));
    arena_bytes_[d] = bytes;
  }
}

void Session::RequireRunnable(DeviceId device) const {
  if (devices_[device] != nullptr) return;
  Throw(Code::kFailedPrecondition,
        "{} is modelled and cannot run anything; use `simulate`, or another --machine",
        machine_.device(device).local_name());
}

PreparedStep& Session::Prepare(const RunRequest& request) {
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
  step->loaded = std::make_unique<LoadedSchedule>(graph_, machine_, step->here, devices_, &state_,
                                                  options_.devices.graphs);
  if (transport != nullptr)
    step->loaded->Connect(step->share, transport, IsPaced(machine_) ? &executor_->pacer() : nullptr);
  if (step->loaded->program() != nullptr) step->loaded->program()->SetObserver(observer_);
  step->state = std::make_unique<StepState>(*step->loaded);
  GrowArenas(*step->here);
  return *prepared_.emplace(key, std::move(step)).first->second;
}

RunResult Session::Run(const RunRequest& request, const RunOptions& options) {
  return Run(Prepare(request), request.feeds, options);
}

RunResult Session::Run(PreparedStep& step, const std::map<std::string, Tensor>& feeds,
                       const RunOptions& options) {
  GrowArenas(*step.here);
  if (step.loaded->bound_generation != arena_generation_) {
    step.loaded->Bind(arenas_);
    step.loaded->bound_generation = arena_generation_;
  }
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
  step.loaded->SetFeeds(tensors);
  Executor::Trace trace;
  if (recorder_ != nullptr && recording_ && step.trace_number >= 0)
    trace = {recorder_, step.trace_number, recorded_steps_};
  RunResult result;
  const int64_t timeout_ns = options.timeout_ns > 0 ? options.timeout_ns : options_.timeout_ns;
  const int64_t number = steps_begun_++;
  if (step.loaded->messages() != nullptr) step.loaded->messages()->BeginStep(number);
  result.times = executor_->Run(step.loaded.get(), step.state.get(), timeout_ns, trace);
  if (options_.job.transport != nullptr) result.times = JoinTimes(step, number, result.times, timeout_ns);
  if (trace.recorder != nullptr) {
    Event event;
    event.kind = EventKind::kStep;
    event.start_ns = result.times.start_ns;
    event.end_ns = result.times.end_ns;
    event.step = recorded_steps_++;
    event.schedule = step.trace_number;
    step_ring_->Push(event);
  }
  ++steps_run_;
  for (size_t i = 0; i < step.here->fetches.size(); ++i)
    result.fetches.push_back(step.loaded->Fetch(static_cast<int>(i)));
  return result;
}

// No process begins a step before all have ended the one before.
StepTimes Session::JoinTimes(const PreparedStep& step, int64_t number, const StepTimes& own,
                             int64_t timeout_ns) {
  const auto ahead = [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    return r < options_.job.ahead_ns.size() ? options_.job.ahead_ns[r] : 0;
  };
  Transport& transport = *options_.job.transport;
  const std::vector<StepTimes> all =
      ExchangeTimes(&transport, own, EndOfStepTag(*step.share, number), [&](int missing) {
        if (executor_->interrupted()) Throw(Code::kCancelled, "the step was cancelled");
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

void Session::Record(Recorder* recorder, PreparedStep* step, int schedule_number) {
  if (recorder != recorder_) {
    executor_->ForgetRecorder();
    recorder_ = recorder;
    step_ring_ = recorder != nullptr ? recorder->NewRing() : nullptr;
    recorded_steps_ = 0;
    for (auto& [key, prepared] : prepared_) prepared->trace_number = -1;
  }
  if (step != nullptr) step->trace_number = schedule_number;
}

void Session::Observe(LaunchObserver* observer) {
  observer_ = observer;
  for (auto& [key, prepared] : prepared_) {
    if (prepared->loaded->program() != nullptr) prepared->loaded->program()->SetObserver(observer);
  }
}

std::string Session::graph_problem() const {
  for (const auto& [key, prepared] : prepared_) {
    const StreamProgram* program = prepared->loaded->program();
    if (program != nullptr && !program->graph_problem().empty()) return program->graph_problem();
  }
  return "";
}

Tensor Session::ReadVariable(const std::string& name) const {
  const NodeId node = graph_.FindNode(name);
  const auto found = state_.variables.find(node);
  if (!node.exists() || found == state_.variables.end())
    Throw(Code::kNotFound, "there is no variable '{}' in this session", name);
  const Variable& variable = found->second.variable;
  if (!variable.initialized)
    Throw(Code::kFailedPrecondition, "Attempting to use uninitialized value {}", name);
  Tensor tensor(variable.tensor.dtype, variable.tensor.shape);
  devices_[found->second.device]->Download(tensor.raw_data(), variable.tensor.data, tensor.ByteSize());
  return tensor;
}

}  // namespace lanescope::exec
