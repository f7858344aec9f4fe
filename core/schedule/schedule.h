// SPDX-License-Identifier: Apache-2.0
// A compiled step: commands on queues, the values they read and write, and where those lie in memory.
// Executor and simulator interpret the same Schedule; neither changes it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/id.h"
#include "core/base/rows.h"
#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/machine/device_queues.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"

namespace lanescope {

// How a value's memory comes to be.
enum class Storage : uint8_t {
  kPlanned,   // a range of the device's arena, by the memory plan
  kConstant,  // written once when the schedule is loaded
  kVariable,  // the session's memory of a variable
  kFeed,      // the caller's tensor, in host memory
  kResource,  // a handle: no memory
};

struct Command;
struct Queue;
struct Value;
using CommandId = Id<Command>;
using QueueId = Id<Queue>;
using ValueId = Id<Value>;

// One tensor at one place.
struct Value {
  Endpoint source;     // the node output whose content this is
  DeviceId device{0};  // whose memory it is in (host memory belongs to the host device)
  DataType dtype = DataType::kFloat;
  Shape shape;  // exact, or bounded: then the actual shape is known only when the step runs
  Storage storage = Storage::kPlanned;
  int buffer = -1;   // kPlanned: index into buffers. Aliases share it.
  NodeId variable;   // kVariable, kResource: the variable or table
  ValueId alias_of;  // the value whose memory this one shares under another shape; none: its own
  std::shared_ptr<const Tensor> constant;  // kConstant
  int64_t bytes = 0;                       // by the bound
};

// The value whose memory this one lies in: itself, or what it is an alias of.
inline ValueId RootOf(const IdVector<ValueId, Value>& values, ValueId value) {
  while (values[value].alias_of.exists()) value = values[value].alias_of;
  return value;
}

// A range of a device's arena, held from the command that first writes it to the last one that reads it.
struct Buffer {
  DeviceId device{0};
  int64_t offset =
      0;  // string buffers hold objects, not bytes: they lie outside the arena and are never reused
  int64_t bytes = 0;
  bool strings = false;
};

enum class CommandKind : uint8_t { kLaunch, kCopy, kRecord, kWait };
std::string_view CommandKindName(CommandKind kind);  // "launch", "copy", "record", "wait"
// Launches and copies take time and publish events; Record and Wait only order what stands beside them.
constexpr bool IsWork(CommandKind kind) { return kind == CommandKind::kLaunch || kind == CommandKind::kCopy; }

// How a device with streams takes a command (core/schedule/stream_issue.h).
enum class StreamIssue : uint8_t {
  kRecordable,  // may be recorded with others, and issued with them at once
  kSingle,      // by itself: what it does is not the same in every step
  kSettled,     // by itself, once its stream is empty: the host reads or writes its operands
  kNothing,     // orders others; nothing runs, and no event says when
};

struct Command {
  CommandKind kind = CommandKind::kLaunch;
  QueueId queue{0};
  // kLaunch: the op that runs, of a fused one the last. kCopy: the op whose output is copied
  NodeId node;
  int fused = -1;                  // kLaunch: index into Schedule::fused; -1: it runs one node
  CommandId partner;               // kWait: the Record command that it waits for
  int inputs = 0, num_inputs = 0;  // into Schedule::operands (none: no data, a missing control)
  int outputs = 0, num_outputs = 0;
  int rank = 0;       // dispatch order: smaller first (from priorities, then graph order)
  int workers = 1;    // of its device that it keeps busy
  int64_t bytes = 0;  // kCopy: bytes by the bound

  bool is_work() const { return IsWork(kind); }
};

// One node of a launch that runs several.
struct FusedNode {
  NodeId node;
  // By input of the node: k >= 0 is an input of the command, -1 - k what node k of the launch makes.
  std::vector<int> inputs;
  int output = -1;  // of the command: where its result goes; -1: only nodes of the launch read it
  // The type of an element-wise node's result.
  DataType dtype = DataType::kInvalid;
  Shape shape;
};

// Nodes that one command runs, in an order that respects what they read of each other. What a node reads of
// another one has as many elements as what it makes, and element i of one is made of element i of the other:
// such nodes run block by block. Nodes that read nothing of each other may differ in size.
struct FusedLaunch {
  std::vector<FusedNode> nodes;
};

// A queue of a device. It runs one command at a time, or where its device has several workers that commands
// can share, as many as these suffice for (core/graph/work_pieces.h). Only dependencies and, in some queues,
// ranks order its commands (core/schedule/run_order.h).
struct Queue {
  DeviceId device{0};
  QueueKind kind = QueueKind::kCompute;
  bool in_order = false;  // by rank strictly, or the ready command of the smallest rank
  std::string name;       // "GPU:0 compute"
  int workers = 1;        // that its commands share; 1: one command at a time
};

struct Schedule {
  IdVector<CommandId, Command> commands;  // in an order that respects every dependency
  std::vector<ValueId> operands;          // see Command
  std::vector<FusedLaunch> fused;         // see Command
  IdVector<ValueId, Value> values;
  std::vector<Buffer> buffers;
  IdVector<QueueId, Queue> queues;
  // By command: the commands that wait for it. Order inside an in-order queue is not listed.
  Rows<CommandId, CommandId> successors;
  IdVector<CommandId, int> num_predecessors;
  IdVector<CommandId, StreamIssue> issue;  // empty: no queue is a stream

  std::vector<ValueId> feeds;    // in the order of CompileRequest::feeds
  std::vector<ValueId> fetches;  // in host memory, in the order of CompileRequest::fetches
  std::vector<std::pair<NodeId, DeviceId>> variables;  // (node, device) of each variable touched
  IdVector<DeviceId, int64_t> arena_bytes;             // planned arena
  IdVector<DeviceId, int64_t> persistent_bytes;        // variables and constants
  IdVector<DeviceId, int64_t> peak_bytes;              // arena_bytes + persistent_bytes

  std::span<const ValueId> Inputs(const Command& command) const {
    return {operands.data() + command.inputs, static_cast<size_t>(command.num_inputs)};
  }
  std::span<const ValueId> Outputs(const Command& command) const {
    return {operands.data() + command.outputs, static_cast<size_t>(command.num_outputs)};
  }
  // The nodes of a launch that runs several; empty for any other command.
  std::span<const FusedNode> FusedNodes(const Command& command) const {
    if (command.fused < 0) return {};
    return fused[static_cast<size_t>(command.fused)].nodes;
  }
  // Calls visit(node) for every node that a launch runs, for a copy for the one whose output it copies.
  template <typename Visit>
  void ForNodes(const Command& command, Visit visit) const {
    if (command.fused < 0 && command.node.exists()) visit(command.node);
    for (const FusedNode& member : FusedNodes(command)) visit(member.node);
  }
  std::span<const CommandId> Successors(CommandId command) const { return successors[command]; }
  ValueId Root(ValueId value) const { return RootOf(values, value); }
  const Value& RootValue(ValueId value) const { return values[Root(value)]; }
  // For a copy.
  DeviceId CopySource(const Command& command) const {
    return values[operands[static_cast<size_t>(command.inputs)]].device;
  }
  DeviceId CopyDestination(const Command& command) const {
    return values[operands[static_cast<size_t>(command.outputs)]].device;
  }
};

struct CompileRequest {
  // Every fed tensor: its endpoint, dtype and exact shape.
  std::vector<std::pair<Endpoint, TensorInfo>> feeds;
  std::vector<Endpoint> fetches;  // output -1: a target, run for its effect, nothing is returned
  DeviceId host;                  // in whose memory feeds and fetches are; none: the machine's host()
  // Nodes that can share a launch do, where the device runs such launches and the machine is one task.
  bool fuse = false;
};

inline DeviceId CallersHost(const CompileRequest& request, const Machine& machine) {
  return request.host.exists() ? request.host : machine.host();
}

// Prunes to the fetches, folds shape arithmetic, partitions by the placement, orders variable reads before
// updates, and plans memory. `info` is InferGraph of the same graph and feeds. Throws ResourceExhausted when
// a device's limit is exceeded (naming op, tensor, device, bytes asked and free, and the largest holders),
// InvalidArgument for what cannot be run.
Schedule Compile(const Graph& graph, const GraphInfo& info, const CompileRequest& request,
                 const Placement& placement, const Machine& machine);

// Checks acyclicity, dependencies, copies, variable order and aliasing from scratch. Throws Internal naming
// the commands.
void VerifySchedule(const Graph& graph, const Schedule& schedule);

// One line a command, for people: `place --dump-schedule`.
std::string DumpSchedule(const Graph& graph, const Machine& machine, const Schedule& schedule);

// Transfers between devices that a placement causes, as TensorFlow's partitioner counts them: one per
// (tensor, destination device, memory), and one per crossing control edge. Host-memory and control transfers
// cost no copy command.
struct Transfer {
  Endpoint tensor;  // output -1: control
  DeviceId src{0}, dst{0};
  int64_t bytes = 0;  // by the bound
  bool host_memory = false;
  bool control = false;
};
std::vector<Transfer> ListTransfers(const Graph& graph, const GraphInfo& info, const CompileRequest& request,
                                    const Placement& placement, const Machine& machine);

}  // namespace lanescope
