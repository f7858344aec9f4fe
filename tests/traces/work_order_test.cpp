// SPDX-License-Identifier: Apache-2.0
// Which work waits for which, with Records and Waits left out.
#include "traces/export/work_order.h"

#include <gtest/gtest.h>

namespace lanescope::traces {
namespace {

RunView::Command OnQueue(CommandKind kind, int queue) {
  RunView::Command command{kind};
  command.queue = queue;
  return command;
}

std::vector<int> RowOf(const Rows<>& rows, int row) { return {rows[row].begin(), rows[row].end()}; }

// Queue 0 does work 0 to n - 1. Queue 1 waits for each of it in turn, and does nothing else. All of queue 2,
// which has no order, depends on the last wait: on work n - 1, which comes after all other work of queue 0.
TEST(WorkOrder, AWaitStandsForTheLastWorkOfAnInOrderQueue) {
  constexpr int n = 2000;
  RunTables tables;
  tables.view.queues = {{true}, {true}, {false}};
  for (int i = 0; i < n; ++i) tables.view.commands.push_back(OnQueue(CommandKind::kLaunch, 0));
  for (int i = 0; i < n; ++i) {
    tables.view.commands.push_back(OnQueue(CommandKind::kWait, 1));
    tables.dependencies.emplace_back(i, n + i);
  }
  for (int i = 0; i < n; ++i) {
    tables.view.commands.push_back(OnQueue(CommandKind::kLaunch, 2));
    tables.dependencies.emplace_back(2 * n - 1, 2 * n + i);
  }
  const Rows<> before = WorkBefore(std::move(tables));
  EXPECT_EQ(before.items.size(), size_t{n});
  for (int i = 0; i < n; ++i) EXPECT_EQ(RowOf(before, 2 * n + i), std::vector<int>{n - 1});
}

// Work of a queue without an order stands for itself; what is depended on directly stays.
TEST(WorkOrder, OtherWorkIsNamedOneByOne) {
  RunTables tables;
  tables.view.queues = {{false}, {true}};
  for (int i = 0; i < 2; ++i) tables.view.commands.push_back(OnQueue(CommandKind::kLaunch, 0));
  tables.view.commands.push_back(OnQueue(CommandKind::kRecord, -1));
  tables.view.commands.push_back(OnQueue(CommandKind::kLaunch, 1));
  tables.dependencies = {{0, 2}, {1, 2}, {2, 3}, {0, 3}};
  EXPECT_EQ(RowOf(WorkBefore(std::move(tables)), 3), (std::vector<int>{0, 1}));
}

// A damaged file may claim that waits wait for each other.
TEST(WorkOrder, CirclesEnd) {
  RunTables tables;
  tables.view.queues = {{true}};
  tables.view.commands = {OnQueue(CommandKind::kWait, -1), OnQueue(CommandKind::kWait, -1),
                          OnQueue(CommandKind::kLaunch, 0)};
  tables.dependencies = {{0, 1}, {1, 0}, {1, 2}};
  EXPECT_TRUE(RowOf(WorkBefore(std::move(tables)), 2).empty());
}

}  // namespace
}  // namespace lanescope::traces
