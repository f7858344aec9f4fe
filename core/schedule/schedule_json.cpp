// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/schedule_json.h"

#include <nlohmann/json.hpp>

#include "core/schedule/fusion.h"

namespace lanescope {
namespace {

using ScheduleJson = nlohmann::ordered_json;

const char* MemoryName(const Schedule& schedule, const Value& root) {
  switch (root.storage) {
    case Storage::kPlanned:
      return schedule.buffers[static_cast<size_t>(root.buffer)].strings ? "strings" : "arena";
    case Storage::kConstant:
      return "constant";
    case Storage::kVariable:
      return "variable";
    case Storage::kFeed:
      return "feed";
    case Storage::kResource:
      return "resource";
  }
  return "";
}

ScheduleJson ValueJson(const Graph& graph, const Machine& machine, const Schedule& schedule, ValueId number) {
  const Value& value = schedule.values[number];
  const Value& root = schedule.RootValue(number);
  ScheduleJson json = {{"tensor", graph.TensorName(value.source)},
                       {"device", machine.device(value.device).local_name()},
                       {"dtype", DataTypeName(value.dtype)},
                       {"shape", value.shape.ToString()},
                       {"bytes", value.bytes},
                       {"memory", MemoryName(schedule, root)},
                       {"alias_of", nullptr}};
  if (value.alias_of.exists()) json["alias_of"] = value.alias_of;
  if (root.storage == Storage::kPlanned) {
    json["offset"] = schedule.buffers[static_cast<size_t>(value.buffer)].offset;
    json["buffer"] = value.buffer;
  }
  if (root.variable.exists()) json["variable"] = graph.node(root.variable).name;
  return json;
}

ScheduleJson CommandJson(const Graph& graph, const Schedule& schedule, CommandId number,
                         const std::vector<CommandId>& predecessors) {
  const Command& command = schedule.commands[number];
  ScheduleJson json = {{"kind", CommandKindName(command.kind)},
                       {"queue", command.queue},
                       {"workers", command.workers},
                       {"after", predecessors},
                       {"inputs", schedule.Inputs(command)},
                       {"outputs", schedule.Outputs(command)}};
  if (command.node.exists()) json["node"] = graph.node(command.node).name;
  if (command.kind != CommandKind::kLaunch) return json;
  json["op"] = LaunchOp(graph, schedule, command);
  for (const FusedNode& member : schedule.FusedNodes(command)) {
    json["fused"].push_back({{"node", graph.node(member.node).name},
                             {"op", graph.node(member.node).op},
                             {"inputs", member.inputs},
                             {"output", member.output < 0 ? ScheduleJson() : ScheduleJson(member.output)}});
  }
  const OpDef* def = OpRegistry::Global().Find(graph.node(command.node).op);
  json["updates"] = def == nullptr ? std::vector<int>() : def->updates;
  json["in_place"] = def != nullptr && def->in_place;
  return json;
}

}  // namespace

std::string ScheduleToJson(const Graph& graph, const Machine& machine, const Schedule& schedule) {
  IdVector<CommandId, std::vector<CommandId>> predecessors(schedule.commands.size());
  for (const CommandId c : schedule.commands.ids()) {
    for (const CommandId next : schedule.Successors(c)) predecessors[next].push_back(c);
  }
  ScheduleJson devices = ScheduleJson::array(), queues = ScheduleJson::array(),
               commands = ScheduleJson::array(), values = ScheduleJson::array();
  for (const DeviceId d : machine.devices.ids()) {
    devices.push_back({{"name", machine.device(d).local_name()},
                       {"arena_bytes", schedule.arena_bytes[d]},
                       {"persistent_bytes", schedule.persistent_bytes[d]},
                       {"peak_bytes", schedule.peak_bytes[d]}});
  }
  for (const Queue& queue : schedule.queues) {
    queues.push_back({{"name", queue.name},
                      {"device", machine.device(queue.device).local_name()},
                      {"in_order", queue.in_order},
                      {"workers", queue.workers}});
  }
  for (const CommandId c : schedule.commands.ids())
    commands.push_back(CommandJson(graph, schedule, c, predecessors[c]));
  for (const ValueId v : schedule.values.ids()) values.push_back(ValueJson(graph, machine, schedule, v));
  const ScheduleJson json = {{"devices", devices}, {"queues", queues},        {"commands", commands},
                             {"values", values},   {"feeds", schedule.feeds}, {"fetches", schedule.fetches}};
  return json.dump(1, ' ', false, ScheduleJson::error_handler_t::replace) + "\n";
}

}  // namespace lanescope
