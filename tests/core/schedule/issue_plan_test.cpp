// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/issue_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace lanescope {
namespace {

// Commands on queues, with dependencies from lower to higher numbers.
Schedule MakeSchedule(const std::vector<int>& queue_of, const std::vector<bool>& in_order,
                      const std::vector<std::pair<int, int>>& edges) {
  Schedule schedule;
  for (size_t q = 0; q < in_order.size(); ++q)
    schedule.queues.Add({DeviceId(q), QueueKind::kCompute, in_order[q], "q"});
  IdVector<CommandId, std::set<CommandId>> successors(queue_of.size());
  schedule.num_predecessors.assign(queue_of.size(), 0);
  for (const auto& [before, after] : edges) {
    if (successors[CommandId(before)].insert(CommandId(after)).second)
      ++schedule.num_predecessors[CommandId(after)];
  }
  for (const CommandId c : successors.ids()) {
    Command command;
    command.queue = QueueId(queue_of[c.index()]);
    command.rank = c.number();
    schedule.commands.Add(command);
    for (const CommandId after : successors[c]) schedule.successors.Append(after);
    schedule.successors.EndRow();
  }
  return schedule;
}

// Executes the plan, queues in their order, as far as it goes; the commands in the order of execution.
std::vector<CommandId> Execute(const IssuePlan& plan) {
  IdVector<CommandId, int> waiting = plan.num_predecessors;
  std::vector<size_t> next(plan.queues.size(), 0);
  IdVector<CommandId, char> done(plan.queue_of.size(), 0);
  std::vector<CommandId> order;
  for (bool progress = true; progress;) {
    progress = false;
    for (const CommandId c : plan.queue_of.ids()) {
      const int queue = plan.queue_of[c];
      if (queue < 0 || done[c] || waiting[c] > 0) continue;
      const IssuePlan::IssueQueue& of = plan.queues[static_cast<size_t>(queue)];
      if (of.in_order && of.order[next[static_cast<size_t>(queue)]] != c) continue;
      ++next[static_cast<size_t>(queue)];
      done[c] = 1;
      progress = true;
      const int segment = plan.Segment(c);
      if (segment < 0) order.push_back(c);
      if (segment >= 0) {
        const auto& inside = plan.segments[static_cast<size_t>(segment)];
        order.insert(order.end(), inside.begin(), inside.end());
      }
      for (const CommandId after : plan.successors[c]) --waiting[after];
    }
  }
  return order;
}

std::vector<CommandId> Commands(std::initializer_list<int> numbers) {
  return {numbers.begin(), numbers.end()};
}

// Three commands of a stream around one of the host: the middle one waits, and so two segments arise.
TEST(IssuePlan, TheHostSeparatesSegments) {
  const Schedule schedule = MakeSchedule({0, 0, 1, 0, 0}, {true, false}, {{1, 2}, {2, 3}});
  const IssuePlan plan = PlanForStreams(schedule, {0, -1}, {1, 1, 0, 1, 1}, 2);
  ASSERT_EQ(plan.segments.size(), 2u);
  EXPECT_EQ(plan.segments[0], Commands({0, 1}));
  EXPECT_EQ(plan.segments[1], Commands({3, 4}));
  EXPECT_EQ(plan.queue_of, (IdVector<CommandId, int>{0, -1, 1, 0, -1}));
  EXPECT_EQ(Execute(plan), Commands({0, 1, 2, 3, 4}));
}

// Work that no command outside touches is one segment, across devices.
TEST(IssuePlan, ASegmentSpansDevices) {
  const Schedule schedule = MakeSchedule({0, 1, 0, 1}, {true, true}, {{0, 1}, {1, 2}});
  const IssuePlan plan = PlanForStreams(schedule, {0, 1}, {1, 1, 1, 1}, 2);
  ASSERT_EQ(plan.segments.size(), 1u);
  EXPECT_EQ(plan.segments[0], Commands({0, 1, 2, 3}));
}

// One task's share: what comes later by way of other tasks is another segment, though nothing here says so.
TEST(IssuePlan, ASegmentIsOfOnePhase) {
  const Schedule schedule = MakeSchedule({0, 0, 0, 0}, {true}, {});
  const IssuePlan plan = PlanForStreams(schedule, {0}, {1, 1, 1, 1}, 2, {}, {0, 0, 2, 2});
  ASSERT_EQ(plan.segments.size(), 2u);
  EXPECT_EQ(plan.segments[0], Commands({0, 1}));
  EXPECT_EQ(plan.segments[1], Commands({2, 3}));
}

TEST(IssuePlan, FewCommandsAreNoSegment) {
  const Schedule schedule = MakeSchedule({0, 0}, {true}, {});
  const IssuePlan plan = PlanForStreams(schedule, {0}, {1, 1}, 3);
  EXPECT_TRUE(plan.segments.empty());
  EXPECT_EQ(Execute(plan), Commands({0, 1}));
}

// For any schedule: every command runs once, after all that it depends on and after what its in-order queue
// puts before it.
TEST(IssuePlan, RandomSchedulesRunCompletelyAndInOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const int count = 2 + static_cast<int>(random() % 40);
    const std::vector<bool> in_order{true, true, random() % 2 == 0, false};
    const IdVector<QueueId, int> groups{0, random() % 2 == 0 ? 0 : 1, -1, -1};
    std::vector<int> queue_of;
    IdVector<CommandId, char> recordable;
    std::vector<std::pair<int, int>> edges;
    for (int c = 0; c < count; ++c) {
      queue_of.push_back(static_cast<int>(random() % 4));
      const bool stream = groups[QueueId(queue_of.back())] >= 0;
      recordable.Add(stream && random() % 4 != 0);
      for (int k = 0; c > 0 && k < 2; ++k) {
        if (random() % 2 == 0) edges.emplace_back(static_cast<int>(random() % static_cast<unsigned>(c)), c);
      }
    }
    const Schedule schedule = MakeSchedule(queue_of, in_order, edges);
    const IssuePlan plan = PlanForStreams(schedule, groups, recordable, 1 + static_cast<int>(random() % 3));
    const auto order = Execute(plan);
    ASSERT_EQ(static_cast<int>(order.size()), count) << "round " << round;
    std::vector<int> position(static_cast<size_t>(count), -1);
    for (size_t i = 0; i < order.size(); ++i) position[order[i].index()] = static_cast<int>(i);
    for (const auto& [before, after] : edges)
      EXPECT_LT(position[static_cast<size_t>(before)], position[static_cast<size_t>(after)]);
    for (int a = 0; a < count; ++a) {
      for (int b = a + 1; b < count; ++b) {
        const auto queue = static_cast<size_t>(queue_of[static_cast<size_t>(a)]);
        if (queue_of[static_cast<size_t>(b)] == static_cast<int>(queue) && in_order[queue]) {
          EXPECT_LT(position[static_cast<size_t>(a)], position[static_cast<size_t>(b)]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lanescope
