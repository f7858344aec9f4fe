#include "core/place/placer.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
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
        chosen_(static_cast<size_t>(graph.num_nodes())) {}

  std::vector<DeviceId> Run() {
    std::vector<int> generators;
    for (const int id : order_) {
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
    for (const int id : generators) {
      const std::vector<DeviceId> candidates = Candidates(id);
      const DeviceId with_consumers = DeviceOfConsumers(id);
      Choose(id, Contains(candidates, with_consumers) ? with_consumers : candidates[0]);
    }
    return std::move(chosen_);
  }

 private:
  bool IsAssigned(int id) const {
    const auto index = static_cast<size_t>(id);
    return index < options_.assigned.size() && !options_.assigned[index].empty();
  }

  // The group has taken the node's device as its own when it was formed.
  void KeepAssigned(int id) {
    const DeviceId device = machine_.FindDevice(options_.assigned[static_cast<size_t>(id)]);
    chosen_[static_cast<size_t>(id)] = device;
    if (options_.log) options_.log(id, device);
  }

  std::vector<DeviceId> Candidates(int id) {
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
  DeviceId DeviceOfInput(int id) const {
    const Node& node = graph_.node(id);
    const OpDef* def = registry_.Find(node.op);
    // ShapeN, of several tensors, follows none of them.
    const bool follows = def != nullptr && def->metadata && def->inputs[0].number_attr.empty();
    if (!follows || node.inputs.empty()) return {};
    return chosen_[static_cast<size_t>(node.inputs[0].node)];
  }

  // The one device of all users, by data or control; none where there is no such.
  DeviceId DeviceOfConsumers(int id) const {
    DeviceId device;
    for (const NodeUse& edge : fanout_[id]) {
      const DeviceId consumer = chosen_[static_cast<size_t>(edge.node)];
      if (!consumer.exists() || (device.exists() && consumer != device)) return DeviceId();
      device = consumer;
    }
    return device;
  }

  void Choose(int id, DeviceId device) {
    chosen_[static_cast<size_t>(id)] = device;
    groups_.Assign(id, device);
    if (options_.log) options_.log(id, device);
  }

  const Graph& graph_;
  const Machine& machine_;
  const PlacerOptions& options_;
  const OpRegistry& registry_;
  const std::vector<int> order_;
  ColocationGraph groups_;
  Fanout fanout_;
  std::vector<DeviceId> chosen_;
};

}  // namespace

Placement PlaceGraph(const Graph& graph, const Machine& machine, const PlacerOptions& options) {
  if (machine.devices.empty()) Throw(Code::kFailedPrecondition, "No devices are registered");
  const DeviceTable devices(machine, options.default_device);
  Placement placement;
  placement.device = Placer(graph, devices, options).Run();
  return placement;
}

std::string PlacementLogLine(const Node& node, const DeviceSpec& device) {
  return fmt::format("{}: ({}): {}", node.name, node.op, device.name);
}

std::vector<int> ColocationGroups(const Graph& graph, const OpRegistry* registry) {
  std::vector<int> parent(static_cast<size_t>(graph.num_nodes()));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int id) {
    while (parent[static_cast<size_t>(id)] != id) {
      int& up = parent[static_cast<size_t>(id)];
      up = parent[static_cast<size_t>(up)];
      id = up;
    }
    return id;
  };
  // The smaller number stays root, so that a group is named by its first member.
  const auto join = [&](int a, int b) {
    const auto [low, high] = std::minmax({root(a), root(b)});
    parent[static_cast<size_t>(high)] = low;
  };
  ForEachSharedStateEdge(graph, graph.TopologicalOrder(), RegistryOrGlobal(registry), join);
  GroupFounders founders(graph);
  for (int id = 0; id < graph.num_nodes(); ++id) {
    for (const std::string_view group : LocationsOf(graph.node(id))) join(id, founders.Join(group, id));
    join(id, founders.JoinOwn(id));
  }
  std::vector<int> groups;
  for (int id = 0; id < graph.num_nodes(); ++id) groups.push_back(root(id));
  return groups;
}

std::vector<DeviceId> FeasibleDevices(const Node& node, const Machine& machine, const KernelTable& kernels) {
  const DeviceTable devices(machine, DeviceId());
  return devices.Candidates(DeviceName(), devices.Supported(node, kernels));
}

}  // namespace lanescope
