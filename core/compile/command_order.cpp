#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "core/compile/draft.h"
#include "core/error.h"

namespace lanescope::compile {
namespace {

struct Edges {
  std::vector<int> first;
  std::vector<int> successors;
  std::vector<int> predecessors;  // count by command
};

Edges BuildEdges(const std::vector<DraftCommand>& commands) {
  Edges edges;
  edges.first.assign(commands.size() + 1, 0);
  edges.predecessors.reserve(commands.size());
  for (const DraftCommand& command : commands) {
    edges.predecessors.push_back(static_cast<int>(command.after.size()));
    for (const int before : command.after) ++edges.first[static_cast<size_t>(before) + 1];
  }
  for (size_t c = 0; c < commands.size(); ++c) edges.first[c + 1] += edges.first[c];
  edges.successors.resize(static_cast<size_t>(edges.first.back()));
  std::vector<int> next(edges.first.begin(), edges.first.end() - 1);
  for (size_t c = 0; c < commands.size(); ++c) {
    for (const int before : commands[c].after) {
      edges.successors[static_cast<size_t>(next[static_cast<size_t>(before)]++)] = static_cast<int>(c);
    }
  }
  return edges;
}

// Commands such that dependencies come first; among the possible ones the largest priority, then the earliest
// made.
std::vector<int> Sort(const Edges& edges, const std::vector<int>& priority) {
  const auto key = [&](int command) {
    const int64_t p = priority.empty() ? 0 : priority[static_cast<size_t>(command)];
    return std::pair<int64_t, int>(-p, command);
  };
  std::priority_queue<std::pair<int64_t, int>, std::vector<std::pair<int64_t, int>>, std::greater<>> ready;
  std::vector<int> waiting = edges.predecessors;
  for (size_t c = 0; c < waiting.size(); ++c) {
    if (waiting[c] == 0) ready.push(key(static_cast<int>(c)));
  }
  std::vector<int> order;
  order.reserve(waiting.size());
  while (!ready.empty()) {
    const int command = ready.top().second;
    ready.pop();
    order.push_back(command);
    for (int e = edges.first[static_cast<size_t>(command)]; e < edges.first[static_cast<size_t>(command) + 1];
         ++e) {
      const int next = edges.successors[static_cast<size_t>(e)];
      if (--waiting[static_cast<size_t>(next)] == 0) ready.push(key(next));
    }
  }
  LANESCOPE_CHECK(order.size() == waiting.size());
  return order;
}

// What an urgent command waits for is as urgent as itself.
std::vector<int> InheritedPriorities(const Draft& draft, const Edges& edges) {
  if (draft.placement.priority.empty()) return {};
  std::vector<int> priority(draft.commands.size(), 0);
  for (size_t c = 0; c < draft.commands.size(); ++c) {
    const DraftCommand& command = draft.commands[c];
    // A copy is as urgent as what it serves, so it starts from the lowest value.
    priority[c] = command.kind == CommandKind::kCopy
                      ? std::numeric_limits<int>::min()
                      : draft.placement.priority[static_cast<size_t>(command.node)];
  }
  const auto order = Sort(edges, {});
  for (size_t i = order.size(); i-- > 0;) {
    for (const int before : draft.command(order[i]).after) {
      auto& p = priority[static_cast<size_t>(before)];
      p = std::max(p, priority[static_cast<size_t>(order[i])]);
    }
  }
  return priority;
}

class QueueMaker {
 public:
  explicit QueueMaker(Draft* draft) : draft_(*draft) {}

  int For(const DraftCommand& command) {
    if (command.kind == CommandKind::kLaunch) return Find(command.device, QueueKind::kCompute);
    const int src = draft_.value(command.inputs[0]).device;
    const int dst = draft_.value(command.outputs[0]).device;
    if (src == dst) return Find(dst, QueueKind::kCompute);
    // Out of a GPU: the source's engine drives it, as CUDA does for peer copies; into a GPU from the host:
    // the destination's.
    if (draft_.machine.device(src).is_gpu()) return Find(src, QueueKind::kCopyOut);
    return Find(dst, draft_.machine.device(dst).is_gpu() ? QueueKind::kCopyIn : QueueKind::kCompute);
  }

 private:
  int Find(int device, QueueKind kind) {
    const DeviceSpec& spec = draft_.machine.device(device);
    if (kind == QueueKind::kCopyOut && spec.copy_engines < 2) kind = QueueKind::kCopyIn;
    const auto [found, added] = queues_.try_emplace({device, kind}, static_cast<int>(draft_.queues.size()));
    if (added) {
      const bool shared = spec.copy_engines < 2;
      const char* role = kind == QueueKind::kCompute  ? "compute"
                         : shared                     ? "copy"
                         : kind == QueueKind::kCopyIn ? "copy-in"
                                                      : "copy-out";
      draft_.queues.push_back({device, kind, spec.in_order, fmt::format("{} {}", spec.local_name(), role)});
    }
    return found->second;
  }

  Draft& draft_;
  std::map<std::pair<int, QueueKind>, int> queues_;
};

void Renumber(Draft* draft, const std::vector<int>& order) {
  std::vector<int> number(order.size());
  for (size_t i = 0; i < order.size(); ++i) number[static_cast<size_t>(order[i])] = static_cast<int>(i);
  std::vector<DraftCommand> commands;
  commands.reserve(order.size());
  for (const int old : order) {
    DraftCommand command = std::move(draft->command(old));
    for (int& before : command.after) before = number[static_cast<size_t>(before)];
    commands.push_back(std::move(command));
  }
  draft->commands = std::move(commands);
  for (int& producer : draft->producer) {
    if (producer >= 0) producer = number[static_cast<size_t>(producer)];
  }
}

}  // namespace

void OrderCommands(Draft* draft) {
  for (DraftCommand& command : draft->commands) {
    std::sort(command.after.begin(), command.after.end());
    command.after.erase(std::unique(command.after.begin(), command.after.end()), command.after.end());
  }
  const Edges edges = BuildEdges(draft->commands);
  Renumber(draft, Sort(edges, InheritedPriorities(*draft, edges)));
  QueueMaker queues(draft);
  for (DraftCommand& command : draft->commands) command.queue = queues.For(command);
}

void InsertEvents(Draft* draft) {
  const auto in_order = [&](int queue) { return draft->queues[static_cast<size_t>(queue)].in_order; };
  if (std::none_of(draft->queues.begin(), draft->queues.end(),
                   [](const Queue& queue) { return queue.in_order; }))
    return;

  const size_t count = draft->commands.size();
  std::vector<char> recorded(count, 0);
  for (const DraftCommand& command : draft->commands) {
    for (const int before : command.after) {
      const int source = draft->command(before).queue;
      if (in_order(command.queue) && in_order(source) && source != command.queue)
        recorded[static_cast<size_t>(before)] = 1;
    }
  }
  std::vector<DraftCommand> commands;
  std::vector<int> number(count, -1), record(count, -1);
  // By (waiting queue, source queue): the last command of the source that the queue has waited for already.
  std::map<std::pair<int, int>, int> waited;
  for (size_t c = 0; c < count; ++c) {
    DraftCommand command = std::move(draft->commands[c]);
    std::vector<int> after;
    for (const int before : command.after) {
      const int source = commands[static_cast<size_t>(number[static_cast<size_t>(before)])].queue;
      if (source == command.queue && in_order(source)) continue;
      if (!in_order(command.queue) || !in_order(source)) {
        after.push_back(number[static_cast<size_t>(before)]);
        continue;
      }
      auto [last, first_time] = waited.try_emplace({command.queue, source}, -1);
      if (last->second >= before) continue;
      last->second = before;
      DraftCommand wait;
      wait.kind = CommandKind::kWait;
      wait.node = command.node;
      wait.device = command.device;
      wait.queue = command.queue;
      wait.partner = record[static_cast<size_t>(before)];
      wait.after = {wait.partner};
      commands.push_back(std::move(wait));
    }
    command.after = std::move(after);
    const int queue = command.queue, device = command.device, node = command.node;
    number[c] = static_cast<int>(commands.size());
    commands.push_back(std::move(command));
    if (recorded[c]) {
      DraftCommand event;
      event.kind = CommandKind::kRecord;
      event.node = node;
      event.device = device;
      event.queue = queue;
      record[c] = static_cast<int>(commands.size());
      commands.push_back(std::move(event));
    }
  }
  draft->commands = std::move(commands);
  for (int& producer : draft->producer) {
    if (producer >= 0) producer = number[static_cast<size_t>(producer)];
  }
}

}  // namespace lanescope::compile
