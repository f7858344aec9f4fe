// SPDX-License-Identifier: Apache-2.0
#include "exec/run/command_roles.h"

#include <algorithm>

#include "core/collective/joint_launch.h"

namespace lanescope::exec {

Device& CommandRoles::QueueDevice(CommandId command) const {
  const QueueId queue = schedule_.commands[command].queue;
  return *devices_[schedule_.queues[queue].device];
}

// Handles have no memory of their own; what they stand for is not looked at here.
bool CommandRoles::InHostMemory(ValueId value) const {
  if (!value.exists()) return true;
  const Value& root = schedule_.RootValue(value);
  return root.storage == Storage::kResource || !machine_.device(root.device).is_gpu();
}

StreamRole CommandRoles::RoleOf(CommandId number) const {
  if (QueueDevice(number).streams() == nullptr) return StreamRole::kNone;
  const Command& command = schedule_.commands[number];
  switch (command.kind) {
    case CommandKind::kRecord:
      return StreamRole::kRecord;
    case CommandKind::kWait:
      return StreamRole::kWait;
    case CommandKind::kCopy:
      return StreamRole::kCopy;
    case CommandKind::kLaunch:
      break;
  }
  if (graph_.node(command.node).op == "NoOp") return StreamRole::kNothing;
  if (!JointLaunchOf(graph_.node(command.node)).empty()) return StreamRole::kJoint;
  const auto on_host = [&](ValueId value) { return InHostMemory(value); };
  const auto inputs = schedule_.Inputs(command), outputs = schedule_.Outputs(command);
  // TensorFlow serves int32 and shapes on GPUs in the same way.
  const bool host = std::all_of(inputs.begin(), inputs.end(), on_host) &&
                    std::all_of(outputs.begin(), outputs.end(), on_host);
  return host ? StreamRole::kOnHost : StreamRole::kKernel;
}

const KernelRegistry& CommandRoles::KernelsFor(CommandId command) const {
  return RoleOf(command) == StreamRole::kKernel ? QueueDevice(command).kernels() : KernelRegistry::Host();
}

StreamCommand CommandRoles::StreamCommandOf(CommandId number, bool replayable, bool dynamic) const {
  const Command& command = schedule_.commands[number];
  StreamCommand stream;
  stream.role = RoleOf(number);
  switch (stream.role) {
    case StreamRole::kNone:
    case StreamRole::kJoint:
      break;
    case StreamRole::kOnHost:
      stream.settle_first = true;
      break;
    case StreamRole::kKernel: {
      // Values that the host reads or writes in the course of issuing: constants never change.
      const auto live = [&](ValueId value) {
        if (!value.exists() || !InHostMemory(value)) return false;
        const Storage storage = schedule_.RootValue(value).storage;
        return storage != Storage::kConstant && storage != Storage::kResource;
      };
      const auto inputs = schedule_.Inputs(command), outputs = schedule_.Outputs(command);
      stream.settle_first = std::any_of(inputs.begin(), inputs.end(), live) ||
                            std::any_of(outputs.begin(), outputs.end(), live);
      stream.recordable = !stream.settle_first && !dynamic && replayable;
      break;
    }
    case StreamRole::kCopy:
      stream.feed = schedule_.RootValue(schedule_.Inputs(command)[0]).storage == Storage::kFeed;
      stream.recordable = !dynamic;
      break;
    case StreamRole::kNothing:
    case StreamRole::kRecord:
    case StreamRole::kWait:
      stream.recordable = true;
  }
  return stream;
}

}  // namespace lanescope::exec
