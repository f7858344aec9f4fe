// SPDX-License-Identifier: Apache-2.0
#include "core/place/placement_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/place/kernel_table.h"
#include "core/place/placer.h"

namespace lanescope {
namespace {

// "/job:localhost/replica:0/task:0/gpu:0"
std::string OldName(const DeviceSpec& device) {
  std::string type = device.parsed.type;
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string task, local;
  SplitDeviceName(device.name, &task, &local);
  return fmt::format("{}/{}:{}", task, type, device.parsed.id);
}

// The device that the node asks for, with this computer's task where it names none.
DeviceName Requested(const Node& node) {
  DeviceName name, here;
  if (!ParseDeviceName(node.device, &name))
    Throw(Code::kInvalidArgument, "Malformed device specification '{}'", node.device);
  ParseDeviceName(kLocalTask, &here);
  if (!name.has_job) name.job = here.job;
  if (!name.has_replica) name.replica = here.replica;
  if (!name.has_task) name.task = here.task;
  name.has_job = name.has_replica = name.has_task = true;
  return name;
}

}  // namespace

std::optional<LogStyle> ParseLogStyle(std::string_view name) {
  if (name == "v0") return LogStyle::kV0;
  if (name == "v1") return LogStyle::kV1;
  if (name == "v2") return LogStyle::kV2;
  return std::nullopt;
}

std::string PlacementLogLine(const Node& node, const DeviceSpec& device, LogStyle style) {
  switch (style) {
    case LogStyle::kV0:
      return fmt::format("{}: {}", node.name, OldName(device));
    case LogStyle::kV1:
      return fmt::format("{}: ({}): {}", node.name, node.op, device.name);
    case LogStyle::kV2:
      break;
  }
  return fmt::format("Executing op {} in device {}", node.op, device.name);
}

std::vector<NodeId> FirstReleasesOrder(const Graph& graph) {
  const Fanout fanout = ComputeFanout(graph);
  IdVector<NodeId, size_t> waiting(graph.num_nodes());
  std::vector<NodeId> ready, order;
  for (const NodeId id : graph.node_ids()) {
    waiting[id] = graph.node(id).inputs.size() + graph.node(id).control_inputs.size();
    if (waiting[id] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    const NodeId id = ready.back();
    ready.pop_back();
    order.push_back(id);
    for (const NodeUse& use : fanout[id]) {
      if (--waiting[use.node] == 0) ready.push_back(use.node);
    }
  }
  return order;
}

DeviceId PlaceByItself(const Node& node, const Machine& machine, bool soft_placement,
                       const KernelTable* kernels) {
  const DeviceName requested = Requested(node);
  const bool is_there = std::ranges::any_of(
      machine.devices, [&](const DeviceSpec& device) { return Matches(requested, device.parsed); });
  if (!is_there && !soft_placement)
    Throw(Code::kFailedPrecondition, "{} unknown device.", requested.ToString());
  Graph alone;
  Node copy = node;
  copy.inputs.clear();
  copy.control_inputs.clear();
  const NodeId id = alone.AddNode(std::move(copy));
  PlacerOptions options;
  options.soft_placement = soft_placement;
  options.kernels = kernels;
  return PlaceGraph(alone, machine, options).device[id];
}

}  // namespace lanescope
