// SPDX-License-Identifier: Apache-2.0
#include "core/place/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json_object.h"
#include "core/place/kernel_table.h"
#include "core/place/placer.h"

namespace lanescope {
namespace {

bool HasKernel(const Node& node, const Machine& machine, DeviceId device) {
  const std::vector<DeviceId> feasible = FeasibleDevices(node, machine, KernelTable::Global());
  return std::find(feasible.begin(), feasible.end(), device) != feasible.end();
}

DeviceId FindAllowedDevice(const Node& node, const std::string& device, const Machine& machine) {
  const DeviceId number = machine.FindDevice(device);
  if (!number.exists()) {
    Throw(Code::kInvalidArgument, "placement of '{}': the machine has no device '{}'", node.name, device);
  }
  if (!HasKernel(node, machine, number)) {
    Throw(Code::kInvalidArgument,
          "placement of '{}': {} has no kernel for the op {}; leave the node out of it", node.name, device,
          node.op);
  }
  return number;
}

// The devices that a file gives, and what follows from them.
class PlacementReader {
 public:
  PlacementReader(const Graph& graph, const Machine& machine, const Placement& base)
      : graph_(graph), machine_(machine), base_(base), given_(base.device.size()), placement_(base) {}

  void ReadNode(const nlohmann::json& json, NodeId id) {
    const Node& node = graph_.node(id);
    JsonObject object(json, "placement of '" + node.name + "'");
    if (object.Has("device")) given_[id] = FindAllowedDevice(node, object.String("device"), machine_);
    if (object.Has("priority")) {
      placement_.priority.resize(graph_.num_nodes(), 0);
      placement_.priority[id] = static_cast<int>(
          object.Integer("priority", std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    }
    object.Finish();
  }

  // State does not move: nodes joined by references, resources or loc:@ attributes go where one of them is
  // told to go, unless the base placement (whose rules may be soft) has parted them already.
  Placement Finish() {
    const IdVector<NodeId, NodeId> groups = ColocationGroups(graph_);
    std::map<std::pair<NodeId, DeviceId>, NodeId>
        leaders;  // by (group, device in the base): the first that is named
    const auto together = [&](NodeId id) { return std::pair(groups[id], base_.device[id]); };
    for (const NodeId id : graph_.node_ids()) {
      if (!given_[id].exists()) continue;
      const NodeId leader = leaders.try_emplace(together(id), id).first->second;
      if (given_[leader] != given_[id]) ThrowParted(leader, id);
    }
    for (const NodeId id : graph_.node_ids()) {
      const auto leader = leaders.find(together(id));
      if (leader != leaders.end()) Follow(leader->second, id);
    }
    return std::move(placement_);
  }

 private:
  std::string NameOf(DeviceId device) const { return machine_.device(device).local_name(); }

  void Follow(NodeId leader, NodeId id) {
    const DeviceId device = given_[leader];
    if (placement_.device[id] != device && id != leader && !HasKernel(graph_.node(id), machine_, device)) {
      Throw(Code::kInvalidArgument,
            "placement of '{}': it must share a device with '{}', and {} has no kernel for the op {}; leave "
            "the node out of it",
            graph_.node(leader).name, graph_.node(id).name, NameOf(device), graph_.node(id).op);
    }
    placement_.device[id] = device;
  }

  [[noreturn]] void ThrowParted(NodeId a, NodeId b) const {
    Throw(Code::kInvalidArgument,
          "placement of '{}' on {} and of '{}' on {}: the two must share a device; give both the same, or "
          "name one of them",
          graph_.node(a).name, NameOf(given_[a]), graph_.node(b).name, NameOf(given_[b]));
  }

  const Graph& graph_;
  const Machine& machine_;
  const Placement& base_;
  IdVector<NodeId, DeviceId> given_;  // by node: the device that the file names
  Placement placement_;
};

}  // namespace

Placement ParsePlacement(std::string_view text, const Graph& graph, const Machine& machine,
                         const Placement& base) {
  LANESCOPE_CHECK(base.device.size() == graph.num_nodes());
  const nlohmann::json json = ParseJson(text);
  JsonObject root(json, "placement");
  const nlohmann::json& nodes = root.Require("nodes");
  root.Finish();
  if (!nodes.is_object()) root.Fail("nodes", "must be an object");
  PlacementReader reader(graph, machine, base);
  for (const auto& item : nodes.items()) {
    const NodeId id = graph.FindNode(item.key());
    if (!id.exists()) Throw(Code::kInvalidArgument, "placement: the graph has no node '{}'", item.key());
    reader.ReadNode(item.value(), id);
  }
  return reader.Finish();
}

Placement ReadPlacement(const std::string& path, const Graph& graph, const Machine& machine,
                        const Placement& base) {
  const std::string text = ReadFile(path);
  try {
    return ParsePlacement(text, graph, machine, base);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.message()));
  }
}

std::string PlacementToJson(const Placement& placement, const Graph& graph, const Machine& machine) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::object();
  for (const NodeId id : graph.node_ids()) {
    auto& node = nodes[graph.node(id).name];
    node["device"] = machine.device(placement.device[id]).name;
    if (!placement.priority.empty()) node["priority"] = placement.priority[id];
  }
  const nlohmann::ordered_json json = {{"nodes", nodes}};
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace lanescope
