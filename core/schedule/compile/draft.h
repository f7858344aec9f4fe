// SPDX-License-Identifier: Apache-2.0
// The schedule while it is being made. Private to core/schedule/compile: each pass is one file and works on
// this structure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/rows.h"
#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/machine/tasks.h"
#include "core/place/placement.h"
#include "core/schedule/compile/linked_lists.h"
#include "core/schedule/compile/op_traits.h"
#include "core/schedule/schedule.h"

namespace lanescope::compile {

// A read of a resource variable that shares the variable's memory instead of copying it.
struct VariableRead {
  ValueId value;
  std::vector<CommandId> after;  // commands before the read
};

struct Draft {
  Draft(const Graph& g, const GraphInfo& i, const CompileRequest& r, const Placement& p, const Machine& m)
      : graph(g), info(i), request(r), placement(p), machine(m), tasks(TasksOf(m)) {}

  const Graph& graph;
  const GraphInfo& info;
  const CompileRequest& request;
  const Placement& placement;
  const Machine& machine;
  const MachineTasks tasks;
  std::vector<NodeId> order;                      // needed nodes in topological order
  IdVector<NodeId, const OpTraits*> ops;          // by node: null where it is not needed
  IdVector<NodeId, char> has_fed_output;          // by node
  IdVector<NodeId, char> folded;                  // by node: nothing but known values of it is needed
  std::map<NodeId, std::vector<NodeId>> updates;  // by variable: the nodes that update it, in their order
  std::map<std::pair<NodeId, NodeId>, int>
      versions;                              // by (node, variable): what the node reads, if not version 0
  IdVector<CommandId, Command> commands;     // queue and rank come with the later passes
  std::vector<ValueId> operands;             // of a command its inputs, then its outputs
  std::map<CommandId, int> copied_versions;  // by copy: the version of the variable that it reads, if not 0
  std::map<CommandId, CommandId> repeats;    // by command that computes again: the one it belongs before
  std::vector<FusedLaunch> fused;            // as in Schedule
  LinkedLists<CommandId> dependencies;       // of the commands, until OrderCommands
  Rows<CommandId, CommandId> after;          // the same from OrderCommands on, without repeats
  IdVector<ValueId, Value> values;
  IdVector<ValueId, CommandId> producer;  // that writes it; none for constants, variables, feeds
  std::vector<VariableRead> reads;
  std::vector<ValueId> feeds;
  std::vector<ValueId> fetches;
  std::vector<std::pair<NodeId, DeviceId>> variables;
  IdVector<QueueId, Queue> queues;
  std::vector<Buffer> buffers;
  IdVector<DeviceId, int64_t> arena_bytes, persistent_bytes;  // as in Schedule
  OpTraitsTable op_table;

  bool IsFed(Endpoint endpoint) const;
  // It runs nowhere, but who reads it waits for its control inputs and its inputs that are known.
  bool IsFolded(NodeId node_id) const { return folded[node_id] != 0; }
  bool IsKnown(Endpoint endpoint) const { return info.of(endpoint).value != nullptr; }
  // The version of the variable that a node reads.
  int VersionAt(NodeId node_id, NodeId variable) const {
    const auto found = versions.find({node_id, variable});
    return found == versions.end() ? 0 : found->second;
  }
  const Node& node(NodeId id) const { return graph.node(id); }
  bool IsNeeded(NodeId node_id) const { return ops[node_id] != nullptr; }
  const OpTraits& op(NodeId node_id) const { return *ops[node_id]; }
  DeviceId device_of(NodeId node_id) const { return placement.device[node_id]; }
  Value& value(ValueId id) { return values[id]; }
  const Value& value(ValueId id) const { return values[id]; }
  Command& command(CommandId id) { return commands[id]; }
  const Command& command(CommandId id) const { return commands[id]; }
  // Valid until operands are added.
  std::span<const ValueId> Inputs(const Command& command) const {
    return {operands.data() + command.inputs, static_cast<size_t>(command.num_inputs)};
  }
  std::span<const ValueId> Outputs(const Command& command) const {
    return {operands.data() + command.outputs, static_cast<size_t>(command.num_outputs)};
  }
  // Where a launch runs, where a copy writes.
  DeviceId DeviceOf(const Command& command) const {
    return command.kind == CommandKind::kCopy ? value(Outputs(command)[0]).device : device_of(command.node);
  }
  // The version of the variable that a copy reads.
  int CopiedVersion(CommandId copy) const {
    const auto found = copied_versions.find(copy);
    return found == copied_versions.end() ? 0 : found->second;
  }
  // Appends a launch without dependencies; its outputs are to be added to the operands right after it.
  CommandId AddLaunch(NodeId node_id, std::span<const ValueId> inputs, int num_outputs);
  // Appends a copy of one value to another place; it writes `to`.
  CommandId AddCopy(ValueId from, ValueId to, NodeId node_id, int version);
  // The op that a launch of the node runs; null for other commands and unknown ops.
  const OpDef* LaunchedOp(const Command& command) const {
    return command.kind == CommandKind::kLaunch ? op(command.node).def : nullptr;
  }
  // Bytes of a variable, whether its node yields a reference or a handle.
  int64_t VariableBytes(NodeId node_id) const {
    const TensorInfo& info_of_node = info.of({node_id, 0});
    return BytesOf(info_of_node.handle != nullptr ? *info_of_node.handle : info_of_node);
  }
  // The value whose memory `id` shares (itself if none).
  ValueId Root(ValueId id) const { return RootOf(values, id); }
};

// The passes, in the order in which Compile calls them.

// Marks what the fetches need, cut at feeds and at values that are known, and orders it topologically.
void Prune(Draft* draft);
// Says which version of a variable every node reads, where the step updates the variable.
void NumberVersions(Draft* draft);
// Makes one Launch per node that does something, one Copy per (tensor, destination; of a variable: and
// version), and the dependencies that data and control edges say.
void Partition(Draft* draft);
// Puts every reader of a variable's version after the update that makes it and before the next one.
void OrderVariables(Draft* draft);
// Lets an element-wise op whose result only replaces a variable's value write into the variable.
void WriteThrough(Draft* draft);
// Makes one launch of nodes that can share one, where the request asks for that.
void Fuse(Draft* draft);
// Sorts the commands by (priority, graph order) into an order that respects all dependencies, and assigns
// queues.
void OrderCommands(Draft* draft);
// Adds Record and Wait commands between in-order queues.
void InsertEvents(Draft* draft);
// Gives every planned value a range of its device's arena, and every alias its root's.
void PlanMemory(Draft* draft);
// Moves the draft into the final flat form.
Schedule Assemble(Draft&& draft);

}  // namespace lanescope::compile
