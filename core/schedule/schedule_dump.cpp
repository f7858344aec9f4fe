// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/base/units.h"
#include "core/schedule/fusion.h"
#include "core/schedule/schedule.h"

namespace lanescope {
namespace {

std::string ValueText(const Graph& graph, const Machine& machine, const Schedule& schedule, ValueId number) {
  const Value& value = schedule.values[number];
  std::string place;
  switch (value.storage) {
    case Storage::kPlanned:
      place = value.buffer < 0
                  ? ""
                  : fmt::format("+{}", schedule.buffers[static_cast<size_t>(value.buffer)].offset);
      break;
    case Storage::kConstant:
      place = "constant";
      break;
    case Storage::kVariable:
      place = "variable";
      break;
    case Storage::kFeed:
      place = "feed";
      break;
    case Storage::kResource:
      place = "resource";
      break;
  }
  return fmt::format("{}:{}{}@{}{}", graph.TensorName(value.source), DataTypeName(value.dtype),
                     value.shape.ToString(), machine.device(value.device).local_name(),
                     place.empty() ? "" : " " + place);
}

}  // namespace

std::string DumpSchedule(const Graph& graph, const Machine& machine, const Schedule& schedule) {
  IdVector<CommandId, std::vector<CommandId>> predecessors(schedule.commands.size());
  for (const CommandId c : schedule.commands.ids()) {
    for (const CommandId next : schedule.Successors(c)) predecessors[next].push_back(c);
  }
  std::string text;
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    const std::string& queue = schedule.queues[command.queue].name;
    text += fmt::format("#{:<5} {:<16} ", c.number(), queue);
    switch (command.kind) {
      case CommandKind::kLaunch:
        text += fmt::format("launch {} ({})", LaunchName(graph, schedule, command),
                            LaunchOp(graph, schedule, command));
        break;
      case CommandKind::kCopy:
        text += fmt::format(
            "copy   {} {} -> {} {}", graph.TensorName(schedule.values[schedule.Inputs(command)[0]].source),
            machine.device(schedule.CopySource(command)).local_name(),
            machine.device(schedule.CopyDestination(command)).local_name(), FormatBytes(command.bytes));
        break;
      case CommandKind::kRecord:
        text += "record";
        break;
      case CommandKind::kWait:
        text += fmt::format("wait   #{}", command.partner.number());
        break;
    }
    if (!predecessors[c].empty()) {
      text += "  after";
      for (const CommandId before : predecessors[c]) text += fmt::format(" #{}", before.number());
    }
    for (const ValueId input : schedule.Inputs(command)) {
      if (input.exists()) text += "\n         in  " + ValueText(graph, machine, schedule, input);
    }
    for (const ValueId output : schedule.Outputs(command))
      text += "\n         out " + ValueText(graph, machine, schedule, output);
    text += '\n';
  }
  for (const DeviceId d : machine.devices.ids()) {
    text += fmt::format("memory {}: {} planned + {} variables and constants = {}\n",
                        machine.device(d).local_name(), FormatBytes(schedule.arena_bytes[d]),
                        FormatBytes(schedule.persistent_bytes[d]), FormatBytes(schedule.peak_bytes[d]));
  }
  return text;
}

}  // namespace lanescope
