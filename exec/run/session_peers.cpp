// SPDX-License-Identifier: Apache-2.0
#include "exec/run/session_peers.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "exec/messages/peer_connections.h"

namespace lanescope::exec {

void SessionPeers::RequireRunnable(DeviceId device) const {
  if (parts_.devices[device] != nullptr) return;
  Throw(Code::kFailedPrecondition,
        "{} is modelled and cannot run anything; use `simulate`, or another --machine",
        parts_.machine.device(device).local_name());
}

void SessionPeers::RequireQueues(const PreparedStep& step) const {
  for (const Queue& queue : step.here->queues) RequireRunnable(queue.device);
}

std::vector<JointParts> SessionPeers::RequireConnections(const Schedule& schedule,
                                                         PeerConnections* connections) const {
  const MachineTasks tasks = TasksOf(parts_.machine);
  const std::vector<GpuPair> pairs = JoinedPairs(schedule, parts_.machine, tasks);
  const std::vector<JointParts> joint = FindJointParts(parts_.graph, schedule);
  std::vector<GpuGroup> groups;
  for (const JointParts& launch : joint) {
    const bool one_task = std::ranges::all_of(
        launch.devices, [&](DeviceId gpu) { return tasks.SameTask(gpu, launch.devices[0]); });
    if (!one_task) groups.push_back(launch.DevicesByRank());
  }
  if (pairs.empty() && groups.empty()) return {};
  if (connections == nullptr) {
    const auto [a, b] = pairs.empty() ? GpuPair(groups[0][0], groups[0][1]) : pairs[0];
    Throw(Code::kFailedPrecondition,
          "{} and {} have a link, and nothing here sends from one to the other by it; leave the link of the "
          "two out of the machine file",
          parts_.machine.device(a).name, parts_.machine.device(b).name);
  }
  connections->Require(pairs, groups);
  return joint;
}

void SessionPeers::Share(const StepDescription&, PreparedStep* step) {
  RequireConnections(*step->schedule, nullptr);
  for (const Value& value : step->schedule->values) RequireRunnable(value.device);
  step->here = step->schedule;
  RequireQueues(*step);
}

}  // namespace lanescope::exec
