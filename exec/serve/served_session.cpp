// SPDX-License-Identifier: Apache-2.0
#include "exec/serve/served_session.h"

#include <algorithm>
#include <utility>

#include "core/graph/graph_io.h"
#include "core/schedule/task_share.h"

namespace lanescope::exec {
namespace {

// A message of a step is no larger than its schedule, whose numbers are ints.
constexpr int64_t kMostServedNumber = INT32_MAX;

Placement PlacementOf(FrameReader* arguments, const Graph& graph, const Machine& machine) {
  Placement placement;
  const auto devices = arguments->Records<int32_t>();
  const auto priorities = arguments->Records<int32_t>();
  const bool fits = devices.size() == graph.num_nodes() &&
                    (priorities.empty() || priorities.size() == graph.num_nodes()) &&
                    std::ranges::all_of(
                        devices, [&](int32_t device) { return machine.devices.Contains(DeviceId(device)); });
  if (!fits) Throw(Code::kDataLoss, "the placement that came is not that of the graph");
  for (const int32_t device : devices) placement.device.Add(DeviceId(device));
  for (const int32_t priority : priorities) placement.priority.Add(priority);
  return placement;
}

Shape FedShape(const std::vector<int64_t>& dims) {
  if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; }))
    Throw(Code::kDataLoss, "a feed came without an exact shape");
  return Shape(std::vector<Dim>(dims.begin(), dims.end()));
}

}  // namespace

ServedSession::ServedSession(FrameReader arguments, const Machine& machine, const SessionOptions& options,
                             std::atomic<int64_t>* updates)
    : machine_(machine), updates_(*updates), graph_(ParseGraphBinary(arguments.Text())) {
  placement_ = PlacementOf(&arguments, graph_, machine_);
  SessionOptions own = options;
  own.seed = static_cast<uint64_t>(arguments.Number());
  session_ = std::make_unique<Session>(graph_, placement_, machine_, own);
}

ServedSession::~ServedSession() {
  session_->Close();
  session_.reset();   // it writes to the recorder
  recorder_.reset();  // delivers what is left, into members
}

std::string ServedSession::Prepare(FrameReader arguments) {
  const int64_t number = arguments.Number();
  StepDescription description;
  for (int64_t feeds = arguments.NumberIn(0, kMostServedNumber); feeds > 0; --feeds) {
    const std::string name(arguments.Text());
    TensorInfo info;
    info.dtype = static_cast<DataType>(arguments.NumberIn(0, 200));
    info.shape = FedShape(arguments.Records<int64_t>());
    description.feeds.emplace_back(name, info);
  }
  description.fetches = arguments.Texts();
  description.targets = arguments.Texts();
  PreparedStep& step = session_->PrepareStep(description);
  const std::lock_guard lock(mutex_);
  steps_[number] = {&step, Updates(step)};
  return FrameWriter()
      .Number(static_cast<int64_t>(step.schedule->commands.size()))
      .Number(step.share->num_messages)
      .Take();
}

// By an op, or by what an Assign's value is written by.
bool ServedSession::Updates(const PreparedStep& step) const {
  const Schedule& here = *step.here;
  return std::ranges::any_of(here.commands, [&](const Command& command) {
    if (!command.is_work()) return false;
    const OpDef* def = OpRegistry::Global().Find(graph_.node(command.node).op);
    const bool launched = command.kind == CommandKind::kLaunch;
    if (launched && def != nullptr && def->role == StateRole::kUpdate) return true;
    return std::ranges::any_of(here.Outputs(command), [&](ValueId output) {
      return output.exists() && here.RootValue(output).storage == Storage::kVariable;
    });
  });
}

ServedSession::Step ServedSession::StepOf(int64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = steps_.find(number);
  if (found == steps_.end()) Throw(Code::kDataLoss, "a step that was never prepared is to run");
  return found->second;
}

std::string ServedSession::Run(FrameReader arguments, const std::atomic<bool>* stop) {
  const Step step = StepOf(arguments.Number());
  ShareOptions share;
  share.first_tag = static_cast<int>(arguments.NumberIn(0, kMostServedNumber));
  share.schedule = static_cast<int>(arguments.NumberIn(-1, kMostServedNumber));
  share.step = static_cast<int>(arguments.NumberIn(-1, kMostServedNumber));
  share.stop = stop;
  if (share.step >= 0) {
    const std::lock_guard lock(recorder_mutex_);
    if (recorder_ == nullptr) {
      recorder_.reset(new Recorder(this));  // of a private base
      session_->Record(recorder_.get(), nullptr, 0);
    }
    const std::lock_guard own(mutex_);
    recorded_[share.schedule] = step.prepared->share;
  }
  const int64_t before = updates_.load();
  const StepTimes times = session_->RunShare(*step.prepared, share);
  const int64_t staleness = step.updates ? updates_.fetch_add(1) - before : -1;
  return FrameWriter().Number(times.start_ns).Number(times.end_ns).Number(staleness).Take();
}

// A dependency that no copy carries has no event.
void ServedSession::Consume(std::span<const Event> events) {
  const std::lock_guard lock(mutex_);
  for (Event event : events) {
    const auto found = recorded_.find(event.schedule);
    if (event.kind != EventKind::kCommand || found == recorded_.end()) continue;
    event.command = found->second->whole[event.command];
    if (event.command.exists()) events_.push_back(event);
  }
}

std::string ServedSession::Events() {
  {
    const std::lock_guard lock(recorder_mutex_);
    if (recorder_ != nullptr) recorder_->Flush();
  }
  const std::lock_guard lock(mutex_);
  return FrameWriter().Records(std::exchange(events_, {})).Take();
}

}  // namespace lanescope::exec
