// SPDX-License-Identifier: Apache-2.0
// How the steps of a session reach other processes: connections of their GPUs, and who sends and receives.
#include <algorithm>

#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "core/schedule/joint_parts.h"
#include "exec/messages/peer_connections.h"
#include "exec/run/loaded_schedule.h"
#include "exec/run/session.h"

namespace lanescope::exec {
namespace {

// Links of a machine that host threads play are emulated, those between its tasks too.
bool IsPaced(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const DeviceSpec& device) { return device.kind == DeviceKind::kVirtual; });
}

}  // namespace

// The joint launches that have to meet: all of them where GPUs of several tasks work together.
std::vector<JointParts> Session::RequireConnections(const Schedule& schedule, const MachineTasks& tasks) {
  const std::vector<GpuPair> pairs = JoinedPairs(schedule, machine_, tasks);
  const std::vector<JointParts> joint = FindJointParts(graph_, schedule);
  std::vector<GpuGroup> groups;
  for (const JointParts& launch : joint) {
    const bool one_task = std::ranges::all_of(
        launch.devices, [&](DeviceId gpu) { return tasks.SameTask(gpu, launch.devices[0]); });
    if (!one_task) groups.push_back(launch.DevicesByRank());
  }
  if (pairs.empty() && groups.empty()) return {};
  if (connections_ == nullptr || !options_.job.joins_gpus) {
    const auto [a, b] = pairs.empty() ? GpuPair(groups[0][0], groups[0][1]) : pairs[0];
    Throw(Code::kFailedPrecondition,
          "{} and {} have a link, and nothing here sends from one to the other by it; leave the link of the "
          "two out of the machine file",
          machine_.device(a).name, machine_.device(b).name);
  }
  connections_->Require(pairs, groups);
  return joint;
}

// What a step that is loaded for a runner needs where it has a part alone: who sends and receives.
std::function<void(LoadedSchedule*)> Session::ConnectionOf(const PreparedStep& step) const {
  if (options_.job.transport == nullptr) return nullptr;
  return [this, share = step.share](LoadedSchedule* loaded) {
    loaded->Connect(share, options_.job.transport, IsPaced(machine_) ? &machine_ : nullptr,
                    connections_.get());
  };
}

}  // namespace lanescope::exec
