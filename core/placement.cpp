#include "core/placement.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/json_object.h"
#include "core/placer.h"

namespace lanescope {
namespace {

using PlainJson = nlohmann::json;

int FindAllowedDevice(const Node& node, const std::string& device, const Machine& machine) {
  const int number = machine.FindDevice(device);
  if (number < 0) {
    Throw(Code::kInvalidArgument, "placement of '{}': the machine has no device '{}'", node.name, device);
  }
  const std::vector<int> feasible = FeasibleDevices(node, machine, KernelTable::Global());
  if (std::find(feasible.begin(), feasible.end(), number) == feasible.end()) {
    Throw(Code::kInvalidArgument,
          "placement of '{}': {} has no kernel for the op {}; remove the node from the file", node.name,
          device, node.op);
  }
  return number;
}

void ReadNode(const PlainJson& json, int id, const Graph& graph, const Machine& machine,
              Placement* placement) {
  const Node& node = graph.node(id);
  JsonObject object(json, "placement of '" + node.name + "'");
  const auto index = static_cast<size_t>(id);
  if (object.Has("device")) {
    placement->device[index] = FindAllowedDevice(node, object.String("device"), machine);
  }
  if (object.Has("priority")) {
    placement->priority.resize(static_cast<size_t>(graph.num_nodes()), 0);
    placement->priority[index] = static_cast<int>(
        object.Integer("priority", std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }
  object.Finish();
}

// State does not move: nodes joined by references, resources or loc:@ attributes stay together, unless the
// base placement (whose rules may be soft) has parted them already.
void CheckGroups(const Graph& graph, const Machine& machine, const Placement& base,
                 const Placement& placement) {
  const std::vector<int> groups = ColocationGroups(graph);
  for (int id = 0; id < graph.num_nodes(); ++id) {
    const auto index = static_cast<size_t>(id), first = static_cast<size_t>(groups[index]);
    const bool together = placement.device[index] == placement.device[first];
    if (together || base.device[index] != base.device[first]) continue;
    Throw(Code::kInvalidArgument,
          "placement of '{}': it must share a device with '{}', which is on {}; give both the same device",
          graph.node(id).name, graph.node(groups[index]).name,
          machine.device(placement.device[first]).local_name());
  }
}

}  // namespace

Placement ParsePlacement(std::string_view text, const Graph& graph, const Machine& machine,
                         const Placement& base) {
  LANESCOPE_CHECK(base.device.size() == static_cast<size_t>(graph.num_nodes()));
  const PlainJson json = ParseJson(text);
  JsonObject root(json, "placement");
  const PlainJson& nodes = root.Require("nodes");
  root.Finish();
  if (!nodes.is_object()) root.Fail("nodes", "must be an object");
  Placement placement = base;
  for (const auto& item : nodes.items()) {
    const int id = graph.FindNode(item.key());
    if (id < 0) Throw(Code::kInvalidArgument, "placement: the graph has no node '{}'", item.key());
    ReadNode(item.value(), id, graph, machine, &placement);
  }
  CheckGroups(graph, machine, base, placement);
  return placement;
}

Placement ReadPlacement(const std::string& path, const Graph& graph, const Machine& machine,
                        const Placement& base) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Throw(Code::kNotFound, "cannot read the placement file '{}': check the path", path);
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return ParsePlacement(text.str(), graph, machine, base);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.message()));
  }
}

std::string PlacementToJson(const Placement& placement, const Graph& graph, const Machine& machine) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::object();
  for (int id = 0; id < graph.num_nodes(); ++id) {
    const auto index = static_cast<size_t>(id);
    auto& node = nodes[graph.node(id).name];
    node["device"] = machine.device(placement.device[index]).name;
    if (!placement.priority.empty()) node["priority"] = placement.priority[index];
  }
  const nlohmann::ordered_json json = {{"nodes", nodes}};
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace lanescope
