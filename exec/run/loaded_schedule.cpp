// SPDX-License-Identifier: Apache-2.0
#include "exec/run/loaded_schedule.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/collective/joint_launch.h"
#include "core/schedule/fusion.h"
#include "core/schedule/joint_parts.h"
#include "exec/device/stream_device.h"
#include "exec/messages/pacer.h"
#include "exec/messages/peer_connections.h"
#include "exec/run/fused_kernel.h"

namespace lanescope::exec {
namespace {

// A worker of the device's team, while a command computes.
class WorkerInUse {
 public:
  explicit WorkerInUse(WorkerTeam* team) : team_(team) { team_->Enter(); }
  ~WorkerInUse() { team_->Leave(); }
  WorkerInUse(const WorkerInUse&) = delete;
  WorkerInUse& operator=(const WorkerInUse&) = delete;

 private:
  WorkerTeam* team_;
};

void CheckInitialized(const LoadedCommand& loaded) {
  for (const auto& [variable, name] : loaded.must_be_initialized) {
    if (!variable->initialized) {
      Throw(Code::kFailedPrecondition, "Attempting to use uninitialized value {}; run the init targets first",
            *name);
    }
  }
}

void CopyStrings(const TensorRef& from, const TensorRef& to) {
  std::copy_n(from.as<std::string>(), from.NumElements(), to.as<std::string>());
}

// Sums alone are averaged (ExpandCollectives).
JointOperation OperationOf(const Node& node) {
  JointOperation operation{.dtype = node.TypeAttr("T")};
  operation.kind = JointKindOf(node).value_or(CollectiveKind::kAllReduce);
  if (operation.kind == CollectiveKind::kAllReduce) {
    operation.reduction = ParseReduction(node.StringAttr("reduction"));
  } else if (operation.kind == CollectiveKind::kReduceScatter) {
    const bool mean = node.StringAttr("final_op") == "Div";
    operation.reduction = mean ? Reduction::kMean : ParseReduction(node.StringAttr("merge_op"));
  }
  return operation;
}

}  // namespace

LoadedSchedule::LoadedSchedule(const Graph& graph, const Machine& machine,
                               std::shared_ptr<const Schedule> schedule,
                               const IdVector<DeviceId, std::unique_ptr<Device>>& devices,
                               SessionState* state, bool record_graphs, const TaskShare* share)
    : graph_(graph),
      schedule_(std::move(schedule)),
      roles_(graph_, *schedule_, devices, machine),
      commands_(LoadCommands(graph_, machine, *schedule_, roles_, devices, state)),
      constants_(*schedule_, devices),
      operands_(*schedule_, *state, constants_, &commands_) {
  LoadStreams(devices, record_graphs, share);
}

void LoadedSchedule::LoadStreams(const IdVector<DeviceId, std::unique_ptr<Device>>& devices,
                                 bool record_graphs, const TaskShare* share) {
  IdVector<CommandId, StreamCommand> commands;
  bool any = false;
  for (const CommandId c : commands_.ids()) {
    const Kernel* kernel = commands_[c].kernel.get();
    commands.Add(roles_.StreamCommandOf(c, kernel != nullptr && kernel->replayable(), commands_[c].dynamic));
    any |= commands.back().role != StreamRole::kNone;
  }
  if (!any) {
    plan_ = PlanByQueue(*schedule_);
    return;
  }
  IdVector<DeviceId, StreamDevice*> with_streams;
  for (const auto& device : devices) with_streams.Add(device != nullptr ? device->streams() : nullptr);
  CommandRunner* const runner = this;
  program_ = std::make_unique<StreamProgram>(*schedule_, with_streams, std::move(commands), runner,
                                             record_graphs, JointLaunches(),
                                             share != nullptr ? share->phase : IdVector<CommandId, int>());
}

std::vector<JointLaunch> LoadedSchedule::JointLaunches() const {
  std::vector<JointLaunch> launches;
  for (const JointParts& joint : FindJointParts(graph_, *schedule_)) {
    const Node& node = graph_.node(schedule_->commands[joint.commands[0]].node);
    JointLaunch& launch = launches.emplace_back();
    launch.operation = OperationOf(node);
    launch.parts = joint.commands;
    launch.is_of_several = joint.count > static_cast<int>(joint.commands.size());
    if (launch.is_of_several) continue;
    for (size_t i = 0; i < joint.commands.size(); ++i)
      launch.parts[static_cast<size_t>(joint.ranks[i])] = joint.commands[i];
  }
  return launches;
}

JointOperands LoadedSchedule::PreparePart(CommandId number) {
  const LoadedCommand& loaded = commands_[number];
  CheckInitialized(loaded);
  const TensorRef &from = loaded.context.inputs()[0], &to = loaded.context.outputs()[0];
  return {from.data, to.data, std::min(from.NumElements(), to.NumElements())};
}

void LoadedSchedule::Bind(const IdVector<DeviceId, std::byte*>& arenas) {
  if (program_ != nullptr) program_->Forget();
  operands_.Bind(arenas);
}

int64_t LoadedSchedule::RunCommand(CommandId number, Pacer* pacer, const std::atomic<bool>& cancelled) {
  if (program_ != nullptr && program_->IsStreamCommand(number)) {
    program_->Run(number);
    return program_->IsOnHost(number) ? 0 : kNotTimed;
  }
  try {
    return RunOnHost(number, pacer, cancelled);
  } catch (const MemberError& error) {
    const Node& node = graph_.node(error.node());
    const Command& command = schedule_->commands[number];
    throw Error(error.code(), fmt::format("{} [node '{}' ({}) on {}, in {}]", error.message(), node.name,
                                          node.op, roles_.QueueDevice(number).spec().local_name(),
                                          LaunchOp(graph_, *schedule_, command)));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} [{}]", error.message(), Describe(number)));
  }
}

void LoadedSchedule::AwaitStreams(CommandId number) {
  if (program_ == nullptr) return;
  if (program_->IsOnHost(number)) return program_->Settle(number);
  if (program_->IsStreamCommand(number)) return;
  try {
    program_->Await(number);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} [{}]", error.message(), Describe(number)));
  }
}

bool LoadedSchedule::Advance(CommandId number, const std::function<void()>& resume) {
  try {
    if (program_ != nullptr) program_->Await(number);
    LoadedCommand& loaded = commands_[number];
    CheckInitialized(loaded);
    if (loaded.dynamic) operands_.TakeShapes(number);
    const WorkerInUse worker(&loaded.context.team());
    if (!loaded.waiting->Advance(loaded.context, resume)) return false;
    if (loaded.dynamic) operands_.KeepShapes(number);
    return true;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} [{}]", error.message(), Describe(number)));
  }
}

int64_t LoadedSchedule::RunOnHost(CommandId number, Pacer* pacer, const std::atomic<bool>& cancelled) {
  switch (schedule_->commands[number].kind) {
    case CommandKind::kLaunch:
      Compute(number);
      return 0;
    case CommandKind::kCopy:
      break;
    case CommandKind::kRecord:
    case CommandKind::kWait:
      return kNotTimed;
  }
  const LoadedCommand& loaded = commands_[number];
  const CopyOperands copy = PrepareCopy(number);
  if (loaded.context.inputs()[0].dtype == DataType::kString) {
    CopyStrings(loaded.context.inputs()[0], loaded.context.outputs()[0]);
  } else if (loaded.route.has_value()) {
    pacer->Copy(*loaded.route, copy.to, copy.from, copy.bytes, cancelled);
  } else if (copy.bytes > 0) {
    std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
  }
  return copy.bytes;
}

void LoadedSchedule::Compute(CommandId number) {
  LoadedCommand& loaded = commands_[number];
  CheckInitialized(loaded);
  if (loaded.dynamic) operands_.TakeShapes(number);
  const WorkerInUse worker(&loaded.context.team());
  loaded.kernel->Compute(loaded.context);
  if (loaded.dynamic) operands_.KeepShapes(number);
}

CopyOperands LoadedSchedule::PrepareCopy(CommandId number) {
  LoadedCommand& loaded = commands_[number];
  CheckInitialized(loaded);
  if (loaded.dynamic) operands_.TakeShapes(number);
  const TensorRef& from = loaded.context.inputs()[0];
  TensorRef& to = loaded.context.outputs()[0];
  if (loaded.dynamic) {
    if (to.growing != nullptr) {
      loaded.context.SetOutputShape(0, from.shape);
    } else {
      to.shape = from.shape;
    }
    operands_.KeepShapes(number);
  }
  const auto element = static_cast<int64_t>(ElementSize(from.dtype));
  return {to.data, from.data, from.dtype == DataType::kString ? 0 : from.NumElements() * element};
}

void LoadedSchedule::Connect(std::shared_ptr<const TaskShare> share, Transport* transport,
                             const Machine* emulated, const PeerConnections* connections) {
  for (const CommandId c : share->ends.ids()) {
    if (share->ends[c].peer >= 0) messages_queue_ = plan().queue_of[c];
  }
  for (const CommandId c : share->ends.ids()) {
    if (share->ends[c].meeting < 0) continue;
    const Meeting& meeting = share->meetings[static_cast<size_t>(share->ends[c].meeting)];
    if (meeting.tasks.size() > 1) program_->Join(meeting.parts[0], connections->GroupOf(meeting.gpus));
  }
  messages_ = std::make_unique<MessageProgress>(this, std::move(share), transport, emulated, connections);
}

MessageMemory LoadedSchedule::MemoryOfMessage(CommandId number, bool sent) {
  LoadedCommand& loaded = commands_[number];
  if (sent) {
    CheckInitialized(loaded);
    if (loaded.dynamic) operands_.TakeShapes(number);
  }
  MessageMemory memory;
  memory.tensor = sent ? loaded.context.inputs()[0] : loaded.context.outputs()[0];
  memory.is_dynamic = loaded.dynamic;
  memory.route = loaded.route.has_value() ? &*loaded.route : nullptr;
  if (memory.tensor.shape.IsExact())
    memory.bytes = memory.tensor.NumElements() * static_cast<int64_t>(ElementSize(memory.tensor.dtype));
  return memory;
}

MessageMemory LoadedSchedule::ShapeMessage(CommandId number, const Shape& shape) {
  LoadedCommand& loaded = commands_[number];
  TensorRef& to = loaded.context.outputs()[0];
  const auto element =
      static_cast<int64_t>(to.dtype == DataType::kString ? sizeof(std::string) : ElementSize(to.dtype));
  if (to.growing != nullptr && shape.IsExact()) loaded.context.SetOutputShape(0, shape);
  if (!shape.IsExact() || shape.NumElements() > to.capacity_bytes / element)
    Throw(Code::kDataLoss, "a tensor of {} does not fit into the memory planned for it [{}]",
          shape.ToString(), Describe(number));
  to.shape = shape;
  if (loaded.dynamic) operands_.KeepShapes(number);
  return MemoryOfMessage(number, false);
}

std::string LoadedSchedule::DescribeMessage(CommandId number) const {
  return fmt::format("'{}'", graph_.node(schedule_->commands[number].node).name);
}

std::string LoadedSchedule::Describe(CommandId number) const {
  const Command& command = schedule_->commands[number];
  return fmt::format("{} '{}' ({}) on {}", command.kind == CommandKind::kCopy ? "copy of node" : "node",
                     LaunchName(graph_, *schedule_, command), LaunchOp(graph_, *schedule_, command),
                     roles_.QueueDevice(number).spec().local_name());
}

}  // namespace lanescope::exec
