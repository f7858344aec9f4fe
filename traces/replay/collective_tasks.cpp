// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/collective_tasks.h"

#include <algorithm>
#include <map>

#include "traces/read/collectives.h"

namespace lanescope::traces {

void LinkCollectives(const TraceRun& run, const DeviceOperations& operations,
                     const std::vector<int>& task_of_operation, ReplayGraph* graph) {
  const auto task_at = [&](int number) -> ReplayTask& { return graph->tasks[static_cast<size_t>(number)]; };
  std::map<int, int> operation_of;  // by launch
  for (size_t i = 0; i < operations.all().size(); ++i) {
    if (operations.all()[i].kind == ReplayTask::Kind::kCollective)
      operation_of[operations.all()[i].launch] = static_cast<int>(i);
  }
  for (const Collective& collective : FindCollectives(run)) {
    std::vector<int> tasks;
    int64_t all_there = INT64_MIN, first_end = INT64_MAX;
    for (const int part : collective.parts) {
      tasks.push_back(task_of_operation[static_cast<size_t>(operation_of.at(part))]);
      all_there = std::max(all_there, task_at(tasks.back()).start_ns);
      first_end = std::min(first_end, task_at(tasks.back()).end_ns);
    }
    if (first_end < all_there) continue;
    for (const int task : tasks) {
      task_at(task).collective = static_cast<int>(graph->collectives.size());
      task_at(task).ns = task_at(task).end_ns - all_there;
    }
    graph->collectives.push_back(std::move(tasks));
    graph->ranks_of_collectives.push_back(collective.ranks);
  }
  graph->facts.collectives = static_cast<int64_t>(graph->collectives.size());
  for (const ReplayTask& task : graph->tasks)
    graph->facts.alone += task.kind == ReplayTask::Kind::kCollective && task.collective < 0 ? 1 : 0;
}

}  // namespace lanescope::traces
