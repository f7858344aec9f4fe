// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/line_width.h"
#include "cli/module_format.h"
#include "cli/options.h"
#include "cli/placement_log.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/unknown_report.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/graph/graph_io.h"
#include "core/schedule/fusion.h"
#include "core/schedule/schedule_json.h"
#include "core/schedule/unknown_work.h"
#include "study/workload/placing.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

struct PlaceCommandOptions {
  std::string graph;
  std::string strategy = "annotated";
  std::string output;
  MachineOptions machine;
  StepOptions step;
  PlaceOptions place;
  ModuleFormat format;
  bool log = false;
  std::string log_style = "v1";
  bool dump = false;
  bool as_json = false;
};

json NodeJson(const study::Workload& workload, NodeId id, const DeviceSpec& device) {
  const Node& node = workload.graph().node(id);
  const auto inputs = workload.InputInfos(id);
  const auto outputs = workload.info().outputs(id);
  json shapes = json::array(), dtypes = json::array();
  for (const TensorInfo& output : outputs) {
    shapes.push_back(ShapeJson(output.shape));
    dtypes.push_back(DataTypeName(output.dtype));
  }
  const OpWork work = WorkOf(node, inputs, outputs);
  return {{"name", node.name}, {"op", node.op},       {"device", device.name}, {"shapes", shapes},
          {"dtypes", dtypes},  {"flops", work.flops}, {"bytes", work.bytes}};
}

json EdgesJson(const Graph& graph) {
  json edges = json::array();
  for (const NodeId id : graph.node_ids()) {
    for (const Endpoint& input : graph.node(id).inputs) {
      edges.push_back({{"tensor", graph.TensorName(input)},
                       {"src", graph.node(input.node).name},
                       {"dst", graph.node(id).name},
                       {"kind", "data"}});
    }
    for (const NodeId control : graph.node(id).control_inputs) {
      edges.push_back({{"tensor", "^" + graph.node(control).name},
                       {"src", graph.node(control).name},
                       {"dst", graph.node(id).name},
                       {"kind", "control"}});
    }
  }
  return edges;
}

json CopiesJson(const Graph& graph, const Machine& machine, const std::vector<Transfer>& transfers) {
  json copies = json::array();
  for (const Transfer& transfer : transfers) {
    copies.push_back({{"tensor", transfer.control ? "^" + graph.node(transfer.tensor.node).name
                                                  : graph.TensorName(transfer.tensor)},
                      {"src", machine.device(transfer.src).name},
                      {"dst", machine.device(transfer.dst).name},
                      {"bytes", transfer.bytes},
                      {"memory", transfer.host_memory ? "host" : "device"},
                      {"kind", transfer.control ? "control" : "data"}});
  }
  return copies;
}

void PrintTable(const study::Workload& workload, const Machine& machine, const study::PlacedGraph& placed,
                const Schedule& schedule, const std::vector<Transfer>& transfers) {
  TextTable devices;
  devices.Text("Device").Number("Nodes").Number("Launches").Number("Peak memory");
  for (const DeviceId d : machine.devices.ids()) {
    int nodes = 0, launches = 0;
    for (const DeviceId device : placed.placement.device) nodes += device == d;
    for (const Command& command : schedule.commands) {
      launches += command.kind == CommandKind::kLaunch && schedule.queues[command.queue].device == d;
    }
    devices.Row({machine.device(d).local_name(), std::to_string(nodes), std::to_string(launches),
                 FormatBytes(schedule.peak_bytes[d])});
  }
  std::map<std::pair<DeviceId, DeviceId>, std::pair<int, int64_t>> traffic;
  for (const Transfer& transfer : transfers) {
    if (transfer.control || transfer.host_memory) continue;
    auto& [count, bytes] = traffic[{transfer.src, transfer.dst}];
    ++count;
    bytes += transfer.bytes;
  }
  TextTable routes;
  routes.Text("Transfers").Number("Count").Number("Bytes/step");
  for (const auto& [route, total] : traffic) {
    routes.Row({machine.device(route.first).local_name() + " -> " + machine.device(route.second).local_name(),
                std::to_string(total.first), FormatBytes(total.second)});
  }
  Print("{} placed by {} on {}\n\n", workload.name(), placed.strategy, machine.name);
  PrintText(devices.Take(LineWidth()) + "\n" +
            (routes.empty() ? "No transfers between devices\n" : routes.Take(LineWidth())));
}

json TrafficJson(const LaunchTraffic& traffic) {
  return {{"launches", traffic.launches},
          {"bytes", traffic.bytes},
          {"product_bytes", traffic.product_bytes},
          {"other_bytes", traffic.other_bytes()}};
}

// The launches of a step and the bytes that they move, without and with fusion, whatever was asked for.
json LaunchesJson(const study::PlacedGraph& placed, const Machine& machine) {
  const study::Workload& workload = *placed.workload;
  CompileRequest request = workload.request();
  const auto traffic = [&](bool fuse) -> json {
    request.fuse = fuse;
    try {
      return TrafficJson(
          TrafficOf(workload.graph(), workload.info(),
                    Compile(workload.graph(), workload.info(), request, placed.placement, machine)));
    } catch (const Error& error) {
      // Results that are kept for a moment longer may be too many.
      if (error.code() != Code::kResourceExhausted) throw;
      return nullptr;
    }
  };
  return {{"unfused", traffic(false)}, {"fused", traffic(true)}};
}

void Save(const Graph& graph, const Machine& machine, const Placement& placement, const std::string& path) {
  if (path.ends_with(".json")) return WriteFile(path, PlacementToJson(placement, graph, machine));
  Graph placed = graph;
  for (const NodeId id : placed.node_ids()) {
    placed.node(id).device = machine.device(placement.device[id]).name;
  }
  WriteGraph(placed, path);
}

// Empty for a file name whose ending says what to write.
std::string CheckOutput(const std::string& path) {
  const bool known = path.ends_with(".pb") || path.ends_with(".pbtxt") || path.ends_with(".json");
  return known ? "" : fmt::format("'{}' ends in none of .pb, .pbtxt, .json, which say what to write", path);
}

void PlaceAndReport(PlaceCommandOptions& options) {
  if (options.place.wire != WireFormat::kFloat32 && options.output.ends_with(".json"))
    Throw(Code::kInvalidArgument,
          "--wire changes the graph; write that, as .pb or .pbtxt, instead of a placement");
  RequireNotRead(options.output, {options.graph, options.machine.file});
  const Machine machine = options.machine.Load();
  study::WorkloadOptions step = options.step;
  step.machine = &machine;
  const study::Workload read(options.graph, step);
  if (options.format.given()) options.format.Read(options.graph);
  const RooflineCost costs;
  std::vector<NodeId> order;
  PlaceOptions place = options.place;
  if (options.log) place.order = &order;
  const study::PlacedGraph placed = study::Place(read, options.strategy, machine, costs, place);
  const study::Workload& workload = *placed.workload;
  const Graph& graph = workload.graph();
  const bool only_log = options.log && !options.as_json && !options.dump && !options.format.given();
  if (options.log) {
    const std::string lines = PlacementLog(placed, machine, order, ParseLogStyle(options.log_style).value());
    only_log ? PrintText(lines) : PrintNotes(lines);
  }
  if (!options.output.empty()) Save(graph, machine, placed.placement, options.output);
  if (!options.output.empty() && !options.output.ends_with(".json")) {
    placed.written ? study::SaveRunConfiguration(read, workload.spec(), options.output)
                   : study::CopyRunConfiguration(read, options.output);
  }
  if (only_log) return;
  if (options.format.given()) return options.format.Print(placed, machine);
  const Schedule schedule = CompileStep(placed, machine);
  if (options.dump) {
    PrintText(options.as_json ? PrintableJson(ScheduleToJson(graph, machine, schedule))
                              : DumpSchedule(graph, machine, schedule));
    return;
  }
  const auto transfers = ListTransfers(graph, workload.info(), workload.request(), placed.placement, machine);
  const auto unknown = FindUnknownWork(graph, workload.info(), schedule);
  if (!options.as_json) {
    PrintTable(workload, machine, placed, schedule, transfers);
    PrintUnknownWork(unknown);
    return;
  }
  json nodes = json::array();
  for (const NodeId id : graph.node_ids()) {
    nodes.push_back(NodeJson(workload, id, machine.device(placed.placement.device[id])));
  }
  const json result = {{"nodes", nodes},
                       {"edges", EdgesJson(graph)},
                       {"copies", CopiesJson(graph, machine, transfers)},
                       {"launches", LaunchesJson(placed, machine)},
                       {"unknown", UnknownWorkJson(unknown)}};
  PrintJson(JsonText(result));
}

}  // namespace

void AddPlace(CLI::App* app) {
  auto* command = app->add_subcommand("place", "Place a graph and print or save where everything goes");
  auto options = std::make_shared<PlaceCommandOptions>();
  command->add_option("graph", options->graph, kGraphHelp)->required();
  command->add_option("--strategy", options->strategy, StrategyNames())->capture_default_str();
  command
      ->add_option("-o,--output", options->output,
                   "Write the placed graph (.pb, .pbtxt) or the placement (.json)")
      ->check(CheckOutput);
  options->machine.Add(command);
  options->step.Add(command, study::Unconfigured::kWholeGraph);
  options->place.Add(command);
  AddStrategyTable(command);
  options->place.AddWire(command);
  command->add_flag("--log-device-placement", options->log, "Print one line per node, as TensorFlow does");
  command
      ->add_option(
          "--log-style", options->log_style,
          "Lines of the first releases of TensorFlow (v0), of 1.x (v1) or of 2.x outside of functions "
          "(v2)")
      ->check(CLI::IsMember({"v0", "v1", "v2"}))
      ->capture_default_str();
  CLI::Option* dump = command->add_flag("--dump-schedule", options->dump, "Print the compiled schedule");
  CLI::Option* json = command->add_flag("--json", options->as_json, "Print JSON");
  options->format.Add(command, {dump, json});
  AddFullNames(command);
  AddExample(command, "lanescope place samples/graphs/deepconn_dual.pbtxt --strategy single");
  command->callback([options] { PlaceAndReport(*options); });
}

}  // namespace lanescope::cli
