// SPDX-License-Identifier: Apache-2.0
#include "core/place/placer.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/place/colocation.h"
#include "core/place/colocation_rules.h"
#include "core/place/device_table.h"
#include "core/place/placer_messages.h"

namespace lanescope {
namespace {

const OpRegistry& RegistryOrGlobal(const OpRegistry* registry) {
  return registry == nullptr ? OpRegistry::Global() : *registry;
}

bool Contains(const std::vector<DeviceId>& devices, DeviceId device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

// Chooses devices node by node, in the order in which TensorFlow numbers the nodes of a file: topological,
// the earlier in the file first. Nodes without inputs that feed a single device are better placed there, so
// they wait for a second pass; nodes that read only a tensor's shape follow that tensor.
class Placer {
 public:
  Placer(const Graph& graph, const DeviceTable& devices, const PlacerOptions& options)
      : graph_(graph),
        machine_(devices.machine()),
        options_(options),
        registry_(RegistryOrGlobal(options.registry)),
        order_(graph.TopologicalOrder()),
        groups_(graph, order_, devices, options.kernels == nullptr ? KernelTable::Global() : *options.kernels,
                registry_, options),
        fanout_(ComputeFanout(graph)),
        chosen_(graph.num_nodes()) {}

  IdVector<NodeId, DeviceId> Run() {
    std::vector<NodeId> generators;
    for (const NodeId id : order_) {
      StopPoint();
      if (IsAssigned(id)) {
        KeepAssigned(id);
      } else if (!graph_.problems.contains(id) && IsGenerator(graph_.node(id), registry_)) {
        generators.push_back(id);
      } else {
        const std::vector<DeviceId> candidates = Candidates(id);
        const DeviceId with_input = DeviceOfInput(id);
        Choose(id, Contains(candidates, with_input) ? with_input : candidates[0]);
      }
    }
    for (const NodeId id : generators) {
      const std::vector<DeviceId> candidates = Candidates(id);
      const DeviceId with_consumers = DeviceOfConsumers(id);
      Choose(id, Contains(candidates, with_consumers) ? with_consumers : candidates[0]);
    }
    return std::move(chosen_);
  }

 private:
  bool IsAssigned(NodeId id) const {
    return options_.assigned.Contains(id) && !options_.assigned[id].empty();
  }

  // The group has taken the node's device as its own when it was formed.
  void KeepAssigned(NodeId id) {
    const DeviceId device = machine_.FindDevice(options_.assigned[id]);
    chosen_[id] = device;
    if (options_.log) options_.log(id, device);
  }

  std::vector<DeviceId> Candidates(NodeId id) {
    try {
      return groups_.Candidates(id);
    } catch (const Error& error) {
      const Node& node = graph_.node(id);
      const std::string message =
          fmt::format("Cannot assign a device for operation {}: {}", node.name, error.message());
      throw Error(Code::kInvalidArgument, WithNodeTag(message, node));
    }
  }

  // The device of a metadata op's input, none for other ops and where that is not placed yet.
  DeviceId DeviceOfInput(NodeId id) const {
    const Node& node = graph_.node(id);
    const OpDef* def = registry_.Find(node.op);
    // ShapeN, of several tensors, follows none of them.
    const bool follows = def != nullptr && def->metadata && def->inputs[0].number_attr.empty();
    if (!follows || node.inputs.empty()) return {};
    return chosen_[node.inputs[0].node];
  }

  // The one device of all users, by data or control; none where there is no such.
  DeviceId DeviceOfConsumers(NodeId id) const {
    DeviceId device;
    for (const NodeUse& edge : fanout_[id]) {
      const DeviceId consumer = chosen_[edge.node];
      if (!consumer.exists() || (device.exists() && consumer != device)) return DeviceId();
      device = consumer;
    }
    return device;
  }

  void Choose(NodeId id, DeviceId device) {
    chosen_[id] = device;
    groups_.Assign(id, device);
    if (options_.log) options_.log(id, device);
  }

  const Graph& graph_;
  const Machine& machine_;
  const PlacerOptions& options_;
  const OpRegistry& registry_;
  const std::vector<NodeId> order_;
  ColocationGraph groups_;
  Fanout fanout_;
  IdVector<NodeId, DeviceId> chosen_;
};

}  // namespace

Placement PlaceGraph(const Graph& graph, const Machine& machine, const PlacerOptions& options) {
  if (machine.devices.empty()) Throw(Code::kFailedPrecondition, "No devices are registered");
  const DeviceTable devices(machine, options.default_device);
  Placement placement;
  placement.device = Placer(graph, devices, options).Run();
  return placement;
}

IdVector<NodeId, NodeId> ColocationGroups(const Graph& graph, const OpRegistry* registry) {
  IdVector<NodeId, NodeId> parent(graph.num_nodes());
  std::ranges::copy(graph.node_ids(), parent.begin());
  const auto root = [&](NodeId id) {
    while (parent[id] != id) {
      NodeId& up = parent[id];
      up = parent[up];
      id = up;
    }
    return id;
  };
  // The smaller number stays root, so that a group is named by its first member.
  const auto join = [&](NodeId a, NodeId b) {
    const auto [low, high] = std::minmax({root(a), root(b)});
    parent[high] = low;
  };
  ForEachSharedStateEdge(graph, graph.TopologicalOrder(), RegistryOrGlobal(registry), join);
  GroupFounders founders(graph);
  for (const NodeId id : graph.node_ids()) {
    for (const std::string_view group : LocationsOf(graph.node(id))) join(id, founders.Join(group, id));
    join(id, founders.JoinOwn(id));
  }
  IdVector<NodeId, NodeId> groups;
  for (const NodeId id : graph.node_ids()) groups.Add(root(id));
  return groups;
}

std::vector<DeviceId> FeasibleDevices(const Node& node, const Machine& machine, const KernelTable& kernels) {
  const DeviceTable devices(machine, DeviceId());
  return devices.Candidates(DeviceName(), devices.Supported(node, kernels));
}

}  // namespace lanescope
