// SPDX-License-Identifier: Apache-2.0
// The joint launches of a schedule (core/collective/joint_launch.h), each with its parts by rank.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace lanescope {

struct JointParts {
  std::vector<CommandId> commands;  // ascending in the schedule, like `devices` and `ranks`
  std::vector<DeviceId> devices;
  std::vector<int> ranks;
  int count = 0;  // of all tasks: more than there are commands in one task's share

  std::vector<DeviceId> DevicesByRank() const;
};

// In the order of their names. Throws InvalidArgument for parts that do not say which of all they are.
std::vector<JointParts> FindJointParts(const Graph& graph, const Schedule& schedule);

}  // namespace lanescope
