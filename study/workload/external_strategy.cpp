// SPDX-License-Identifier: Apache-2.0
#include "study/workload/external_strategy.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/place/kernel_table.h"
#include "study/base/json_text.h"

namespace lanescope::study {
namespace {

using nlohmann::json;

constexpr int64_t kSmallCopy = 4 << 10, kLargeCopy = 16 << 20;

json NodeJson(const Workload& workload, const Machine& machine, NodeId id, NodeId group) {
  const Graph& graph = workload.graph();
  const Node& node = graph.node(id);
  json inputs = json::array(), outputs = json::array(), devices = json::array();
  for (const Endpoint& input : node.inputs) inputs.push_back(graph.TensorName(input));
  for (const NodeId control : node.control_inputs) inputs.push_back("^" + graph.node(control).name);
  for (const TensorInfo& output : workload.info().outputs(id)) {
    outputs.push_back({{"dtype", DataTypeName(output.dtype)},
                       {"shape", ShapeJson(output.shape)},
                       {"bytes", BytesOf(output)}});
  }
  for (const DeviceId device : FeasibleDevices(node, machine, KernelTable::Global()))
    devices.push_back(machine.device(device).local_name());
  const OpWork work = WorkOf(node, workload.InputInfos(id), workload.info().outputs(id));
  return {{"name", node.name}, {"op", node.op},       {"device", node.device},
          {"inputs", inputs},  {"outputs", outputs},  {"devices", devices},
          {"group", group},    {"flops", work.flops}, {"bytes", work.bytes}};
}

json GraphJson(const Workload& workload, const Machine& machine) {
  const Graph& graph = workload.graph();
  const IdVector<NodeId, NodeId> groups = ColocationGroups(graph);
  json nodes = json::array(), feeds = json::array();
  for (const NodeId id : graph.node_ids()) nodes.push_back(NodeJson(workload, machine, id, groups[id]));
  for (const auto& [name, feed] : workload.spec().feeds) feeds.push_back(name);
  return {{"name", workload.name()},
          {"nodes", nodes},
          {"feeds", feeds},
          {"fetches", workload.spec().fetches},
          {"targets", workload.spec().targets}};
}

json LaunchCostsJson(const Workload& workload, const Machine& machine, const CostModel& costs) {
  const Graph& graph = workload.graph();
  json nodes = json::object();
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const auto inputs = workload.InputInfos(id);
    json& entry = nodes[node.name] = json::object();
    for (const DeviceId device : FeasibleDevices(node, machine, KernelTable::Global())) {
      entry[machine.device(device).local_name()] =
          costs.Launch(machine, device, node, inputs, workload.info().outputs(id)).ns;
    }
  }
  return nodes;
}

// A line through the times of a small and of a large copy.
json CopyCostsJson(const Machine& machine, const CostModel& costs) {
  json copies = json::array();
  for (const DeviceId src : machine.devices.ids()) {
    for (const DeviceId dst : machine.devices.ids()) {
      if (src == dst) continue;
      const auto small = static_cast<double>(costs.Copy(machine, src, dst, kSmallCopy).ns);
      const auto large = static_cast<double>(costs.Copy(machine, src, dst, kLargeCopy).ns);
      const double ns_per_byte = (large - small) / static_cast<double>(kLargeCopy - kSmallCopy);
      copies.push_back({{"src", machine.device(src).local_name()},
                        {"dst", machine.device(dst).local_name()},
                        {"fixed_ns", std::max(0.0, small - ns_per_byte * static_cast<double>(kSmallCopy))},
                        {"ns_per_byte", ns_per_byte}});
    }
  }
  return copies;
}

std::vector<std::string> Words(std::string_view program) {
  std::error_code ignored;
  if (std::filesystem::exists(program, ignored)) return {std::string(program)};
  std::vector<std::string> words;
  for (size_t begin = 0; begin < program.size();) {
    const size_t end = std::min(program.find(' ', begin), program.size());
    if (end > begin) words.emplace_back(program.substr(begin, end - begin));
    begin = end + 1;
  }
  if (words.empty()) Throw(Code::kInvalidArgument, "the strategy 'exec:' names no program");
  return words;
}

std::string LastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.remove_suffix(1);
  const size_t line = text.rfind('\n');
  return std::string(line == std::string_view::npos ? text : text.substr(line + 1));
}

}  // namespace

std::string ExternalStrategyInput(const Workload& workload, const Machine& machine, const CostModel& costs) {
  const json input = {
      {"graph", GraphJson(workload, machine)},
      {"costs",
       {{"nodes", LaunchCostsJson(workload, machine, costs)}, {"copies", CopyCostsJson(machine, costs)}}},
      {"machine", json::parse(MachineToJson(machine))}};
  return JsonText(input) + "\n";
}

Placement PlaceByProgram(std::string_view program, const Workload& workload, const Machine& machine,
                         const CostModel& costs, const Placement& base, const ChildLimits& limits) {
  const ChildResult result =
      RunChild(Words(program), ExternalStrategyInput(workload, machine, costs), limits);
  if (result.status != 0) {
    const std::string reason = LastLine(result.errors);
    Throw(Code::kFailedPrecondition, "'{}' ended with status {}: {}", program, result.status,
          reason.empty() ? "it printed no reason" : reason);
  }
  try {
    return ParsePlacement(result.output, workload.graph(), machine, base);
  } catch (const Error& error) {
    Throw(error.code(), "the output of '{}': {}", program, error.message());
  }
}

}  // namespace lanescope::study
