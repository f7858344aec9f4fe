// SPDX-License-Identifier: Apache-2.0
#include "core/collective/collective_choice.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/collective/collective_cost.h"
#include "core/graph/op.h"

namespace lanescope {
namespace {

// Rings of all-reduces and broadcasts cut tensors into chunks of known sizes.
bool CanRing(const CollectiveGroup& group, const Shape& shape, size_t devices) {
  const bool has_chunks = group.kind == CollectiveOp::kAllReduce || group.kind == CollectiveOp::kBroadcast;
  return (!has_chunks || shape.IsExact()) && devices <= kMostInRing;
}

TensorInfo InfoOf(const CollectiveGroup& group, const Shape& shape) {
  TensorInfo info;
  info.dtype = group.type;
  info.shape = shape;
  return info;
}

CollectiveBy BySize(const CollectiveGroup& group, const Shape& shape, size_t devices) {
  if (!CanRing(group, shape, devices) || !shape.HasBound()) return SuitedBySize(devices, std::nullopt);
  return SuitedBySize(devices, BytesOf(InfoOf(group, shape)));
}

std::vector<CollectiveBy> PlainOnes(const CollectiveGroup& group, const Shape& shape, size_t devices) {
  std::vector<CollectiveBy> plain = {CollectiveBy::kTree, CollectiveBy::kOneDevice};
  if (CanRing(group, shape, devices)) plain.insert(plain.begin(), CollectiveBy::kRing);
  return plain;
}

// The plans to choose from; of equally good ones the first is taken.
std::vector<CollectivePlan> PlansFor(const CollectiveGroup& group, const Shape& shape,
                                     const DeviceGroups& groups, std::optional<CollectiveBy> asked) {
  std::vector<CollectivePlan> plans;
  if (!asked) {
    for (const CollectiveBy by : PlainOnes(group, shape, group.members.size())) plans.push_back({by});
  }
  const bool has_levels = groups.size() > 1 && groups.size() < group.members.size();
  if (asked || (group.kind == CollectiveOp::kAllReduce && has_levels)) {
    for (const CollectiveBy between : PlainOnes(group, shape, groups.size()))
      plans.push_back({CollectiveBy::kHierarchical, groups, between});
  }
  return plans;
}

std::vector<std::string> NamesOfDevices(const Graph& graph, const CollectiveGroup& group) {
  std::vector<std::string> names;
  for (const NodeId id : group.members) names.push_back(graph.node(id).device);
  return names;
}

}  // namespace

std::vector<Endpoint> ScheduleCollective(const CollectiveGroup& group, const CollectivePlan& plan,
                                         const Shape& shape, const std::vector<Endpoint>& tensors,
                                         CollectiveSteps* steps) {
  const int64_t elements = shape.IsExact() ? shape.NumElements() : 0;
  switch (group.kind) {
    case CollectiveOp::kAllReduce:
      if (plan.by == CollectiveBy::kHierarchical)
        return ScheduleHierarchicalAllReduce(plan.groups, plan.between, tensors, elements, steps);
      return ScheduleAllReduce(plan.by, tensors, elements, steps);
    case CollectiveOp::kAllGather:
      return ScheduleAllGather(plan.by, tensors, steps);
    case CollectiveOp::kReduceScatter:
      return ScheduleReduceScatter(plan.by, tensors, steps);
    case CollectiveOp::kBroadcast:
      return ScheduleBroadcast(plan.by, tensors[0], group.members.size(), elements, steps);
    case CollectiveOp::kReduce:
      break;
  }
  return {steps->Finish(0, steps->CombineAll(0, tensors))};
}

CollectiveChoice::CollectiveChoice(const Machine* machine) : machine_(machine) {
  if (machine_ != nullptr) tasks_ = TasksOf(*machine_);
}

// Empty where the machine does not have all of them.
std::vector<DeviceId> CollectiveChoice::DevicesOf(const Graph& graph, const CollectiveGroup& group) const {
  std::vector<DeviceId> devices;
  if (machine_ == nullptr) return devices;
  for (const std::string& name : NamesOfDevices(graph, group)) {
    devices.push_back(machine_->FindDevice(name));
    if (!devices.back().exists()) return {};
  }
  return devices;
}

// None where some have no route to each other.
std::optional<CollectivePlan> CollectiveChoice::Cheapest(const CollectiveGroup& group, const Shape& shape,
                                                         const std::vector<DeviceId>& devices,
                                                         const std::vector<CollectivePlan>& plans) const {
  const int64_t bytes = BytesOf(InfoOf(group, shape));
  std::optional<CollectivePlan> cheapest;
  int64_t least_ns = 0;
  try {
    for (const CollectivePlan& plan : plans) {
      CollectiveCost cost(*machine_, tasks_, devices, group.mean);
      std::vector<Endpoint> tensors;
      for (size_t i = 0; i < devices.size(); ++i) tensors.push_back(cost.Begin(i, bytes));
      ScheduleCollective(group, plan, shape, tensors, &cost);
      const int64_t ns = cost.Ns();
      if (cheapest && ns >= least_ns) continue;
      cheapest = plan;
      least_ns = ns;
    }
  } catch (const Error& error) {
    if (error.code() != Code::kNotFound) throw;
    return std::nullopt;
  }
  return cheapest;
}

CollectivePlan CollectiveChoice::PlanOf(const Graph& graph, const CollectiveGroup& group, const Shape& shape,
                                        std::optional<CollectiveBy> asked) {
  const size_t count = group.members.size();
  const bool reduces = group.kind == CollectiveOp::kAllReduce;
  if (asked == CollectiveBy::kNccl || (asked == CollectiveBy::kHierarchical && !reduces)) asked.reset();
  if (asked == CollectiveBy::kRing && !CanRing(group, shape, count)) asked.reset();
  if (asked && asked != CollectiveBy::kHierarchical) return {*asked};
  if (group.kind == CollectiveOp::kReduce) return {};

  const std::vector<DeviceId> devices = DevicesOf(graph, group);
  const DeviceGroups groups =
      devices.empty() ? GroupsByTask(NamesOfDevices(graph, group)) : NearDevices(*machine_, devices);
  if (!devices.empty() && shape.HasBound()) {
    const Key key{group.kind, devices,    {shape.dims().begin(), shape.dims().end()},
                  group.type, group.mean, asked};
    const auto [found, added] = known_.try_emplace(key);
    if (added) found->second = Cheapest(group, shape, devices, PlansFor(group, shape, groups, asked));
    if (found->second) return *found->second;
  }
  if (asked) return {*asked, groups, BySize(group, shape, groups.size())};
  return {BySize(group, shape, count)};
}

}  // namespace lanescope
