// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/joint_parts.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/base/error.h"
#include "core/collective/joint_launch.h"

namespace lanescope {

std::vector<DeviceId> JointParts::DevicesByRank() const {
  std::vector<DeviceId> by_rank(static_cast<size_t>(count));
  for (size_t i = 0; i < commands.size(); ++i) by_rank[static_cast<size_t>(ranks[i])] = devices[i];
  return by_rank;
}

std::vector<JointParts> FindJointParts(const Graph& graph, const Schedule& schedule) {
  std::map<std::string, JointParts> by_name;
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kLaunch) continue;
    const Node& node = graph.node(command.node);
    const std::string name = JointLaunchOf(node);
    if (name.empty()) continue;
    JointParts& joint = by_name[name];
    const std::vector<std::string> devices = node.StringListAttr(kJointDevices);
    const auto own = std::ranges::find(devices, node.device);
    const auto rank = static_cast<int>(own - devices.begin());
    if (own == devices.end() || std::ranges::find(joint.ranks, rank) != joint.ranks.end() ||
        (joint.count > 0 && joint.count != static_cast<int>(devices.size())))
      Throw(Code::kInvalidArgument, "node '{}' does not say which part of '{}' it is", node.name, name);
    joint.count = static_cast<int>(devices.size());
    joint.commands.push_back(c);
    joint.devices.push_back(schedule.queues[command.queue].device);
    joint.ranks.push_back(rank);
  }
  std::vector<JointParts> all;
  for (auto& [name, joint] : by_name) all.push_back(std::move(joint));
  return all;
}

}  // namespace lanescope
