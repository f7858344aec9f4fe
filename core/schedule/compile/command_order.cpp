#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "core/base/error.h"
#include "core/schedule/compile/draft.h"
#include "core/schedule/dispatch.h"

namespace lanescope::compile {
namespace {

// Every command comes after what it waits for: then the sort without priorities changes nothing.
bool IsSorted(const Rows<>& after) {
  for (size_t c = 0; c < after.size(); ++c) {
    if (!after[c].empty() && after[c].back() >= static_cast<int>(c)) return false;
  }
  return true;
}

// Commands such that dependencies come first; among the possible ones the largest priority, then the earliest
// made. Empty priorities: all equal.
std::vector<int> Sort(const Rows<>& after, const Rows<>& successors, const std::vector<int>& priority) {
  const auto key = [&](int command) {
    const int64_t p = priority.empty() ? 0 : priority[static_cast<size_t>(command)];
    return std::pair<int64_t, int>(-p, command);
  };
  std::priority_queue<std::pair<int64_t, int>, std::vector<std::pair<int64_t, int>>, std::greater<>> ready;
  std::vector<size_t> waiting(after.size());
  for (size_t c = 0; c < waiting.size(); ++c) {
    waiting[c] = after[c].size();
    if (waiting[c] == 0) ready.push(key(static_cast<int>(c)));
  }
  std::vector<int> order;
  order.reserve(waiting.size());
  while (!ready.empty()) {
    const int command = ready.top().second;
    ready.pop();
    order.push_back(command);
    for (const int next : successors[command]) {
      if (--waiting[static_cast<size_t>(next)] == 0) ready.push(key(next));
    }
  }
  LANESCOPE_CHECK(order.size() == waiting.size());
  return order;
}

// What an urgent command waits for is as urgent as itself.
std::vector<int> InheritedPriorities(const Draft& draft, const Rows<>& successors) {
  if (draft.placement.priority.empty()) return {};
  std::vector<int> priority(draft.commands.size(), 0);
  for (size_t c = 0; c < draft.commands.size(); ++c) {
    const Command& command = draft.commands[c];
    // A copy is as urgent as what it serves, so it starts from the lowest value.
    priority[c] = command.kind == CommandKind::kCopy
                      ? std::numeric_limits<int>::min()
                      : draft.placement.priority[static_cast<size_t>(command.node)];
  }
  const auto order = Sort(draft.after, successors, {});
  for (size_t i = order.size(); i-- > 0;) {
    for (const int before : draft.after[order[i]]) {
      auto& p = priority[static_cast<size_t>(before)];
      p = std::max(p, priority[static_cast<size_t>(order[i])]);
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
    const int dst = draft_.DeviceOf(command);
    if (command.kind == CommandKind::kLaunch) return Find(dst, QueueKind::kCompute);
    const int src = draft_.value(draft_.Inputs(command)[0]).device;
    if (src == dst) return Find(dst, QueueKind::kCompute);
    // Out of a GPU: the source's engine drives it, as CUDA does for peer copies; into a GPU from the host:
    // the destination's.
    if (draft_.machine.device(src).is_gpu()) return Find(src, QueueKind::kCopyOut);
    return Find(dst, draft_.machine.device(dst).is_gpu() ? QueueKind::kCopyIn : QueueKind::kCompute);
  }

 private:
  static constexpr size_t kKinds = 3;

  QueueId Find(int device, QueueKind kind) {
    const DeviceSpec& spec = draft_.machine.device(device);
    if (kind == QueueKind::kCopyOut && spec.copy_engines < 2) kind = QueueKind::kCopyIn;
    QueueId& queue = queues_[static_cast<size_t>(device) * kKinds + static_cast<size_t>(kind)];
    if (!queue.exists()) {
      queue = draft_.queues.Add({device, kind, spec.in_order,
                                 fmt::format("{} {}", spec.local_name(), RoleOf(spec, kind)),
                                 kind == QueueKind::kCompute && !spec.in_order ? LaunchWorkers(spec) : 1});
    }
    return queue;
  }

  static const char* RoleOf(const DeviceSpec& spec, QueueKind kind) {
    if (kind == QueueKind::kCompute) return "compute";
    if (spec.copy_engines < 2) return "copy";
    return kind == QueueKind::kCopyIn ? "copy-in" : "copy-out";
  }

  Draft& draft_;
  std::vector<QueueId> queues_;  // by (device, kind)
};

// Of a launch: how many workers of its device it keeps busy.
class WorkerCounter {
 public:
  explicit WorkerCounter(const Draft& draft) : draft_(draft) {}

  int For(const Command& command) {
    if (command.kind != CommandKind::kLaunch) return 1;
    const int workers = LaunchWorkers(draft_.machine.device(draft_.device_of(command.node)));
    if (workers == 1) return 1;
    const Node& node = draft_.node(command.node);
    inputs_.clear();
    for (const Endpoint& input : node.inputs) inputs_.push_back(draft_.info.of(input));
    return WorkersFor(WorkOf(node, inputs_, draft_.info.outputs(command.node)), workers);
  }

 private:
  const Draft& draft_;
  std::vector<TensorInfo> inputs_;  // of the current command; kept for its memory
};

void CollectDependencies(Draft* draft) {
  Rows<>& after = draft->after;
  after.first.reserve(draft->commands.size() + 1);
  after.items.reserve(draft->dependencies.num_items());
  for (int c = 0; c < draft->num_commands(); ++c) {
    draft->dependencies.ForEach(c, [&](int before) { after.Append(before); });
    after.SortOpenRow();
    after.EndRow();
  }
  draft->dependencies = LinkedLists();
}

void Renumber(Draft* draft, const std::vector<int>& order) {
  std::vector<int> number(order.size());
  for (size_t i = 0; i < order.size(); ++i) number[static_cast<size_t>(order[i])] = static_cast<int>(i);
  std::vector<Command> commands;
  commands.reserve(order.size());
  Rows<> after;
  for (const int old : order) {
    commands.push_back(draft->command(old));
    for (const int before : draft->after[old]) after.Append(number[static_cast<size_t>(before)]);
    after.EndRow();
  }
  draft->commands = std::move(commands);
  draft->after = std::move(after);
  for (int& producer : draft->producer) {
    if (producer >= 0) producer = number[static_cast<size_t>(producer)];
  }
}

}  // namespace

void OrderCommands(Draft* draft) {
  CollectDependencies(draft);
  if (!draft->placement.priority.empty() || !IsSorted(draft->after)) {
    const Rows<> successors = Transpose(draft->after, draft->commands.size());
    Renumber(draft, Sort(draft->after, successors, InheritedPriorities(*draft, successors)));
  }
  QueueMaker queues(draft);
  WorkerCounter workers(*draft);
  for (int c = 0; c < draft->num_commands(); ++c) {
    draft->command(c).queue = queues.For(draft->command(c));
    draft->command(c).rank = c;
    draft->command(c).workers = workers.For(draft->command(c));
  }
}

}  // namespace lanescope::compile
