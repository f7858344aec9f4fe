// SPDX-License-Identifier: Apache-2.0
// By which algorithm a collective is done. Internal to core/collective.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/collective/collective_nodes.h"
#include "core/collective/collective_schedule.h"
#include "core/graph/graph.h"
#include "core/graph/shape.h"
#include "core/machine/machine.h"
#include "core/machine/tasks.h"

namespace lanescope {

struct CollectivePlan {
  CollectiveBy by = CollectiveBy::kTree;  // not kNccl
  // The groups of a hierarchy.
  DeviceGroups groups = {};
  CollectiveBy between = CollectiveBy::kTree;
};

// Tensor i is on the group's device i, and so is result i.
std::vector<Endpoint> ScheduleCollective(const CollectiveGroup& group, const CollectivePlan& plan,
                                         const Shape& shape, const std::vector<Endpoint>& tensors,
                                         CollectiveSteps* steps);

// Takes what CollectiveCost finds to cost least; of equal ones a ring, then a tree. Where the machine is
// not known, does not have the devices that the nodes ask for, or has no way between them, SuitedBySize. The
// same for the same group and machine, in whichever process.
class CollectiveChoice {
 public:
  // `machine` may be null; it must outlive the choice.
  explicit CollectiveChoice(const Machine* machine);

  // `asked`: the algorithm, where one is asked for; a ring that would have to know the shape, and does not,
  // and NCCL are chosen for anew.
  CollectivePlan PlanOf(const Graph& graph, const CollectiveGroup& group, const Shape& shape,
                        std::optional<CollectiveBy> asked);

 private:
  // Everything that costs depend on, beside the machine.
  using Key = std::tuple<CollectiveOp, std::vector<DeviceId>, std::vector<Dim>, DataType, bool,
                         std::optional<CollectiveBy>>;

  std::vector<DeviceId> DevicesOf(const Graph& graph, const CollectiveGroup& group) const;
  std::optional<CollectivePlan> Cheapest(const CollectiveGroup& group, const Shape& shape,
                                         const std::vector<DeviceId>& devices,
                                         const std::vector<CollectivePlan>& plans) const;

  const Machine* machine_;
  MachineTasks tasks_;
  std::map<Key, std::optional<CollectivePlan>> known_;
};

}  // namespace lanescope
