// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/collective/joint_launch.h"
#include "core/graph/work_pieces.h"
#include "core/schedule/compile/draft.h"

namespace lanescope::compile {
namespace {

// Every command comes after what it waits for: then the sort without priorities changes nothing.
bool IsSorted(const Rows<CommandId, CommandId>& after) {
  for (const CommandId c : IdRange<CommandId>(after.size())) {
    if (!after[c].empty() && after[c].back() >= c) return false;
  }
  return true;
}

// The launches of the draft that begin only together (joint_launch.h).
struct JointLaunches {
  std::vector<std::vector<CommandId>> parts;
  IdVector<CommandId, int> of;  // by command: its joint launch, -1: none; empty: there are none

  int Of(CommandId command) const { return of.empty() ? -1 : of[command]; }
};

JointLaunches FindJointLaunches(const Draft& draft) {
  JointLaunches joint;
  std::map<std::string, int> by_name;
  for (const CommandId c : draft.commands.ids()) {
    const Command& command = draft.command(c);
    if (command.kind != CommandKind::kLaunch || !draft.op(command.node).may_be_joint) continue;
    const std::string name = JointLaunchOf(draft.node(command.node));
    if (name.empty()) continue;
    const auto [found, added] = by_name.emplace(name, static_cast<int>(joint.parts.size()));
    if (added) joint.parts.emplace_back();
    joint.parts[static_cast<size_t>(found->second)].push_back(c);
    if (joint.of.empty()) joint.of.assign(draft.commands.size(), -1);
    joint.of[c] = found->second;
  }
  return joint;
}

// Commands such that dependencies come first; among the possible ones the largest priority, then the earliest
// made. Empty priorities: all equal. The parts of a joint launch come one directly behind the other, so that
// on all devices joint launches are in one order, and nothing that one part waits for is behind another.
std::vector<CommandId> Sort(const Rows<CommandId, CommandId>& after,
                            const Rows<CommandId, CommandId>& successors,
                            const IdVector<CommandId, int>& priority, const JointLaunches& joint) {
  const auto key = [&](CommandId command) {
    const int64_t p = priority.empty() ? 0 : priority[command];
    return std::pair<int64_t, CommandId>(-p, command);
  };
  std::priority_queue<std::pair<int64_t, CommandId>, std::vector<std::pair<int64_t, CommandId>>,
                      std::greater<>>
      ready;
  IdVector<CommandId, size_t> waiting(after.size());
  std::vector<size_t> missing;  // by joint launch: its parts that still wait
  for (const auto& parts : joint.parts) missing.push_back(parts.size());
  const auto make_ready = [&](CommandId command) {
    const int launch = joint.Of(command);
    if (launch < 0 || --missing[static_cast<size_t>(launch)] == 0) ready.push(key(command));
  };
  for (const CommandId c : waiting.ids()) {
    waiting[c] = after[c].size();
    if (waiting[c] == 0) make_ready(c);
  }
  std::vector<CommandId> order;
  order.reserve(waiting.size());
  while (!ready.empty()) {
    StopPoint();
    const CommandId command = ready.top().second;
    ready.pop();
    const int launch = joint.Of(command);
    const size_t first = order.size();
    if (launch < 0) {
      order.push_back(command);
    } else {
      const auto& parts = joint.parts[static_cast<size_t>(launch)];
      order.insert(order.end(), parts.begin(), parts.end());
    }
    for (size_t i = first; i < order.size(); ++i) {
      for (const CommandId next : successors[order[i]]) {
        if (--waiting[next] == 0) make_ready(next);
      }
    }
  }
  if (!joint.parts.empty() && order.size() != waiting.size()) {
    Throw(
        Code::kInvalidArgument,
        "all-reduces wait for each other in a circle, so that NCCL cannot run them; --all-reduce ring makes "
        "copies of them");
  }
  LANESCOPE_CHECK(order.size() == waiting.size());
  return order;
}

// An urgent command makes all that it waits for as urgent as itself.
IdVector<CommandId, int> InheritedPriorities(const Draft& draft, const Rows<CommandId, CommandId>& successors,
                                             const JointLaunches& joint) {
  if (draft.placement.priority.empty()) return {};
  IdVector<CommandId, int> priority(draft.commands.size(), 0);
  for (const CommandId c : draft.commands.ids()) {
    const Command& command = draft.commands[c];
    // A copy is as urgent as what it serves, so it starts from the lowest value.
    priority[c] = command.kind == CommandKind::kCopy ? std::numeric_limits<int>::min()
                                                     : draft.placement.priority[command.node];
  }
  const auto order = Sort(draft.after, successors, {}, joint);
  for (size_t i = order.size(); i-- > 0;) {
    for (const CommandId before : draft.after[order[i]]) {
      auto& p = priority[before];
      p = std::max(p, priority[order[i]]);
    }
  }
  return priority;
}

// The queue of each command, made at its first use.
class QueueMaker {
 public:
  explicit QueueMaker(Draft* draft)
      : draft_(*draft), queues_(kKinds * static_cast<size_t>(draft->machine.num_devices())) {}

  QueueId For(const Command& command) {
    const DeviceId dst = draft_.DeviceOf(command);
    if (command.kind == CommandKind::kLaunch) return Find({dst, QueueKind::kCompute});
    const DeviceId src = draft_.value(draft_.Inputs(command)[0]).device;
    return Find(CopyQueueOf(draft_.machine, draft_.tasks, src, dst));
  }

 private:
  static constexpr size_t kKinds = 3;

  QueueId Find(const DeviceQueue& of) {
    QueueId& queue = queues_[of.device.index() * kKinds + static_cast<size_t>(of.kind)];
    if (!queue.exists()) {
      const DeviceSpec& spec = draft_.machine.device(of.device);
      queue = draft_.queues.Add({of.device, of.kind, IsInOrder(spec, of.kind),
                                 fmt::format("{} {}", spec.local_name(), RoleOf(spec, of.kind)),
                                 QueueWorkers(spec, of.kind)});
    }
    return queue;
  }

  static std::string_view RoleOf(const DeviceSpec& spec, QueueKind kind) {
    return kind != QueueKind::kCompute && spec.copy_engines < 2 ? "copy" : QueueKindName(kind);
  }

  Draft& draft_;
  std::vector<QueueId> queues_;  // by (device, kind)
};

// Says how many workers of its device a launch keeps busy.
class WorkerCounter {
 public:
  explicit WorkerCounter(const Draft& draft) : draft_(draft) {}

  int For(const Command& command) {
    if (command.kind != CommandKind::kLaunch) return 1;
    const int workers = LaunchWorkers(draft_.machine.device(draft_.device_of(command.node)));
    if (workers == 1) return 1;
    if (command.fused < 0) return Of(command.node, workers);
    // Its nodes share the elements, or come one after the other.
    int most = 1;
    for (const FusedNode& member : draft_.fused[static_cast<size_t>(command.fused)].nodes)
      most = std::max(most, Of(member.node, workers));
    return most;
  }

 private:
  int Of(NodeId id, int workers) {
    const Node& node = draft_.node(id);
    inputs_.clear();
    for (const Endpoint& input : node.inputs) inputs_.push_back(draft_.info.of(input));
    return WorkersFor(WorkOf(node, inputs_, draft_.info.outputs(id)), workers);
  }

  const Draft& draft_;
  std::vector<TensorInfo> inputs_;  // of the current command; kept for its memory
};

void CollectDependencies(Draft* draft) {
  Rows<CommandId, CommandId>& after = draft->after;
  after.first.reserve(draft->commands.size() + 1);
  after.items.reserve(draft->dependencies.num_items());
  for (const CommandId c : draft->commands.ids()) {
    draft->dependencies.ForEach(c, [&](CommandId before) { after.Append(before); });
    after.SortOpenRow();
    after.EndRow();
  }
  draft->dependencies = LinkedLists<CommandId>();
}

void Renumber(Draft* draft, const std::vector<CommandId>& order) {
  IdVector<CommandId, CommandId> number(order.size());
  for (size_t i = 0; i < order.size(); ++i) number[order[i]] = CommandId(i);
  IdVector<CommandId, Command> commands;
  commands.reserve(order.size());
  Rows<CommandId, CommandId> after;
  for (const CommandId old : order) {
    commands.Add(draft->command(old));
    for (const CommandId before : draft->after[old]) after.Append(number[before]);
    after.EndRow();
  }
  draft->commands = std::move(commands);
  draft->after = std::move(after);
  for (CommandId& producer : draft->producer) {
    if (producer.exists()) producer = number[producer];
  }
}

}  // namespace

void OrderCommands(Draft* draft) {
  CollectDependencies(draft);
  const JointLaunches joint = FindJointLaunches(*draft);
  if (!draft->placement.priority.empty() || !joint.parts.empty() || !IsSorted(draft->after)) {
    const auto successors = Transpose(draft->after, draft->commands.size());
    const auto priority = InheritedPriorities(*draft, successors, joint);
    Renumber(draft, Sort(draft->after, successors, priority, joint));
  }
  QueueMaker queues(draft);
  WorkerCounter workers(*draft);
  for (const CommandId c : draft->commands.ids()) {
    StopPoint();
    draft->command(c).queue = queues.For(draft->command(c));
    draft->command(c).rank = c.number();
    draft->command(c).workers = workers.For(draft->command(c));
  }
}

}  // namespace lanescope::compile
