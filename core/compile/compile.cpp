#include "core/compile/draft.h"
#include "core/error.h"

namespace lanescope {
namespace compile {
namespace {

void AssembleCommands(const Draft& draft, Schedule* schedule) {
  for (size_t c = 0; c < draft.commands.size(); ++c) {
    const DraftCommand& from = draft.commands[c];
    Command command;
    command.kind = from.kind;
    command.queue = from.queue;
    command.node = from.node;
    command.partner = from.partner;
    command.inputs = static_cast<int>(schedule->operands.size());
    command.num_inputs = static_cast<int>(from.inputs.size());
    schedule->operands.insert(schedule->operands.end(), from.inputs.begin(), from.inputs.end());
    command.outputs = static_cast<int>(schedule->operands.size());
    command.num_outputs = static_cast<int>(from.outputs.size());
    schedule->operands.insert(schedule->operands.end(), from.outputs.begin(), from.outputs.end());
    command.workspace = from.workspace;
    command.rank = static_cast<int>(c);
    if (from.kind == CommandKind::kCopy) command.bytes = draft.value(from.outputs[0]).bytes;
    schedule->commands.push_back(command);
  }
}

void AssembleDependencies(const Draft& draft, Schedule* schedule) {
  const size_t count = draft.commands.size();
  schedule->first_successor.assign(count + 1, 0);
  for (const DraftCommand& command : draft.commands) {
    schedule->num_predecessors.push_back(static_cast<int>(command.after.size()));
    for (const int before : command.after) ++schedule->first_successor[static_cast<size_t>(before) + 1];
  }
  for (size_t c = 0; c < count; ++c) schedule->first_successor[c + 1] += schedule->first_successor[c];
  schedule->successors.resize(static_cast<size_t>(schedule->first_successor.back()));
  std::vector<int> next(schedule->first_successor.begin(), schedule->first_successor.end() - 1);
  for (size_t c = 0; c < count; ++c) {
    for (const int before : draft.commands[c].after) {
      schedule->successors[static_cast<size_t>(next[static_cast<size_t>(before)]++)] = static_cast<int>(c);
    }
  }
}

void CountMemory(const Draft& draft, Schedule* schedule) {
  const auto devices = static_cast<size_t>(draft.machine.num_devices());
  schedule->arena_bytes = draft.arena_bytes;
  schedule->persistent_bytes.assign(devices, 0);
  for (const Value& value : draft.values) {
    if (value.storage == Storage::kConstant && value.alias_of < 0) {
      schedule->persistent_bytes[static_cast<size_t>(value.device)] += value.bytes;
    }
  }
  for (const auto& [node, device] : draft.variables) {
    schedule->persistent_bytes[static_cast<size_t>(device)] += draft.VariableBytes(node);
  }
  for (size_t d = 0; d < devices; ++d) {
    schedule->peak_bytes.push_back(schedule->arena_bytes[d] + schedule->persistent_bytes[d]);
  }
}

}  // namespace

Schedule Assemble(const Draft& draft) {
  Schedule schedule;
  AssembleCommands(draft, &schedule);
  AssembleDependencies(draft, &schedule);
  schedule.values = draft.values;
  for (Value& value : schedule.values) {
    // Aliases share the buffer of their root.
    if (value.alias_of >= 0) {
      const int root = draft.Root(static_cast<int>(&value - schedule.values.data()));
      value.alias_of = root;
      value.buffer = draft.value(root).buffer;
    }
  }
  schedule.buffers = draft.buffers;
  schedule.queues = draft.queues;
  schedule.feeds = draft.feeds;
  schedule.fetches = draft.fetches;
  schedule.variables = draft.variables;
  CountMemory(draft, &schedule);
  return schedule;
}

}  // namespace compile

Schedule Compile(const Graph& graph, const GraphInfo& info, const CompileRequest& request,
                 const Placement& placement, const Machine& machine) {
  LANESCOPE_CHECK(static_cast<int>(placement.device.size()) == graph.num_nodes());
  compile::Draft draft(graph, info, request, placement, machine);
  compile::Prune(&draft);
  compile::NumberVersions(&draft);
  compile::Partition(&draft);
  compile::OrderVariables(&draft);
  compile::WriteThrough(&draft);
  compile::OrderCommands(&draft);
  compile::InsertEvents(&draft);
  compile::PlanMemory(&draft);
  return compile::Assemble(draft);
}

}  // namespace lanescope
