// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/issue_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/schedule/dispatch.h"

namespace lanescope {
namespace {

size_t At(int index) { return static_cast<size_t>(index); }

// Dependencies of the schedule, and those that the order of its in-order queues implies, as (before, after).
std::vector<std::pair<CommandId, CommandId>> AllEdges(const Schedule& schedule) {
  std::vector<std::pair<CommandId, CommandId>> edges;
  edges.reserve(schedule.successors.items.size() + schedule.commands.size());
  IdVector<QueueId, CommandId> last(schedule.queues.size());
  for (const CommandId c : schedule.commands.ids()) {
    for (const CommandId next : schedule.Successors(c)) edges.emplace_back(c, next);
    const QueueId queue = schedule.commands[c].queue;
    if (!schedule.queues[queue].in_order) continue;
    if (last[queue].exists()) edges.emplace_back(last[queue], c);
    last[queue] = c;
  }
  return edges;
}

// How many times recordable work and other work alternate at most on a way to the command. Recordable
// commands of one level depend on others of lower levels only, and others depend on recordable ones of their
// level or lower: so each level's recordable commands can be one unit without a cycle. That holds for the
// parts of a joint launch too, since all have the level of the highest.
IdVector<CommandId, int> Levels(const Schedule& schedule,
                                const std::vector<std::pair<CommandId, CommandId>>& edges,
                                const IdVector<CommandId, char>& recordable,
                                const std::vector<std::vector<CommandId>>& joint) {
  IdVector<CommandId, int> level(schedule.commands.size(), 0);
  // Commands are in an order that respects all dependencies: edges sorted by their end are relaxed in it.
  std::vector<std::pair<CommandId, CommandId>> by_end;
  by_end.reserve(edges.size());
  for (const auto& [before, after] : edges) by_end.emplace_back(after, before);
  std::sort(by_end.begin(), by_end.end());
  for (bool changed = true; changed;) {
    for (const auto& [after, before] : by_end) {
      const int step = !recordable[before] && recordable[after] ? 1 : 0;
      level[after] = std::max(level[after], level[before] + step);
    }
    changed = false;
    for (const auto& parts : joint) {
      int highest = 0;
      for (const CommandId c : parts) highest = std::max(highest, level[c]);
      for (const CommandId c : parts) {
        changed |= level[c] != highest;
        level[c] = highest;
      }
    }
  }
  return level;
}

void MakeSegments(const Schedule& schedule, const std::vector<std::pair<CommandId, CommandId>>& edges,
                  const IdVector<CommandId, char>& recordable, int min_segment,
                  const IdVector<CommandId, int>& phase, IssuePlan* plan) {
  const IdVector<CommandId, int> level = Levels(schedule, edges, recordable, plan->joint);
  std::map<std::pair<int, int>, std::vector<CommandId>> by_level;  // of each phase
  for (const CommandId c : level.ids()) {
    if (recordable[c]) by_level[{phase.empty() ? 0 : phase[c], level[c]}].push_back(c);
  }
  plan->segment_of.assign(level.size(), -1);
  for (auto& [key, commands] : by_level) {
    const auto work = std::count_if(commands.begin(), commands.end(),
                                    [&](CommandId c) { return schedule.commands[c].is_work(); });
    if (work < min_segment) continue;
    for (const CommandId c : commands) plan->segment_of[c] = static_cast<int>(plan->segments.size());
    plan->segments.push_back(std::move(commands));
  }
}

}  // namespace

IssuePlan PlanByQueue(const Schedule& schedule) {
  IssuePlan plan;
  auto orders = QueueOrders(schedule);
  for (const QueueId q : schedule.queues.ids())
    plan.queues.push_back({schedule.queues[q].in_order, std::move(orders[q]), schedule.queues[q].workers});
  for (const Command& command : schedule.commands) plan.queue_of.Add(command.queue.number());
  plan.successors = schedule.successors;
  plan.num_predecessors = schedule.num_predecessors;
  return plan;
}

IssuePlan PlanForStreams(const Schedule& schedule, const IdVector<QueueId, int>& stream_group,
                         const IdVector<CommandId, char>& recordable, int min_segment,
                         std::vector<std::vector<CommandId>> joint, const IdVector<CommandId, int>& phase) {
  IssuePlan plan;
  plan.joint = std::move(joint);
  if (!plan.joint.empty()) plan.joint_of.assign(schedule.commands.size(), -1);
  for (size_t j = 0; j < plan.joint.size(); ++j) {
    for (const CommandId c : plan.joint[j]) plan.joint_of[c] = static_cast<int>(j);
  }
  IdVector<QueueId, int> issue_queue_of(schedule.queues.size(), -1);
  const int groups = 1 + *std::max_element(stream_group.begin(), stream_group.end());
  plan.queues.resize(At(groups));
  auto orders = QueueOrders(schedule);
  for (const QueueId q : schedule.queues.ids()) {
    issue_queue_of[q] = stream_group[q];
    if (stream_group[q] >= 0) continue;
    issue_queue_of[q] = static_cast<int>(plan.queues.size());
    plan.queues.push_back({schedule.queues[q].in_order, std::move(orders[q]), schedule.queues[q].workers});
  }
  const auto edges = AllEdges(schedule);
  MakeSegments(schedule, edges, recordable, min_segment, phase, &plan);

  const size_t count = schedule.commands.size();
  const auto unit = [&](CommandId command) {
    const int segment = plan.segment_of[command], together = plan.Joint(command);
    if (together >= 0) return plan.joint[At(together)].front();
    return segment < 0 ? command : plan.segments[At(segment)].front();
  };
  for (const CommandId c : schedule.commands.ids()) {
    plan.queue_of.Add(unit(c) == c ? issue_queue_of[schedule.commands[c].queue] : -1);
  }
  std::vector<std::pair<CommandId, CommandId>> between;
  for (const auto& [before, after] : edges) {
    // The order of a host queue is kept by the queue itself.
    const QueueId queue = schedule.commands[before].queue;
    const bool implied =
        stream_group[queue] < 0 && schedule.queues[queue].in_order && queue == schedule.commands[after].queue;
    if (!implied && unit(before) != unit(after)) between.emplace_back(unit(before), unit(after));
  }
  std::sort(between.begin(), between.end());
  between.erase(std::unique(between.begin(), between.end()), between.end());
  plan.num_predecessors.assign(count, 0);
  for (const auto& [before, after] : between) ++plan.num_predecessors[after];
  plan.successors = MakeRows<CommandId, CommandId>(count, [&](const auto& add) {
    for (const auto& [before, after] : between) add(before, after);
  });
  return plan;
}

}  // namespace lanescope
