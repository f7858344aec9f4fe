// SPDX-License-Identifier: Apache-2.0
#include "sims/search/task_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "core/base/error.h"

namespace lanescope::sims {
namespace {

// The tasks that `id` waits for; a producer that it reads twice comes twice.
template <typename Visit>
void ForEachBefore(const TaskGraph& tasks, int id, const Visit& visit) {
  for (const int before : tasks.task(id).after) visit(before);
  for (const TaskRead& read : tasks.task(id).reads) {
    if (const int producer = tasks.tensor(read.tensor).producer; producer >= 0) visit(producer);
  }
}

}  // namespace

TaskOrder::TaskOrder(const TaskGraph& tasks)
    : tasks_(tasks),
      successors_(MakeRows(static_cast<size_t>(tasks.num_tasks()),
                           [&](const auto& add) {
                             for (int id = 0; id < tasks.num_tasks(); ++id)
                               ForEachBefore(tasks, id, [&](int before) { add(before, id); });
                           })),
      waits_(IndexOf(tasks.num_tasks()), 0) {
  for (const int task : successors_.items) ++waits_[IndexOf(task)];
}

bool TaskOrder::Prioritise(const std::vector<int>& priority) {
  if (made_.done && made_.priority == priority) return false;
  std::swap(made_, before_);
  if (!made_.done || made_.priority != priority) Make(priority);
  return true;
}

void TaskOrder::Make(const std::vector<int>& priority) {
  const size_t tasks = IndexOf(tasks_.num_tasks());
  made_.done = true;
  made_.priority = priority;
  std::vector<int>& urgency = made_.urgency;
  urgency = priority.empty() ? std::vector<int>(tasks, 0) : priority;
  for (int id = tasks_.num_tasks() - 1; id >= 0; --id) {
    ForEachBefore(tasks_, id, [&](int before) {
      urgency[IndexOf(before)] = std::max(urgency[IndexOf(before)], urgency[IndexOf(id)]);
    });
  }
  made_.all_equal =
      std::adjacent_find(urgency.begin(), urgency.end(), std::not_equal_to<>()) == urgency.end();
  made_.order.clear();
  made_.rank.resize(tasks);
  std::vector<int> waiting = waits_;
  using Key = std::pair<int64_t, int>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  const auto arrive = [&](int id) { ready.emplace(-int64_t{urgency[IndexOf(id)]}, id); };
  for (int id = 0; id < tasks_.num_tasks(); ++id) {
    if (waiting[IndexOf(id)] == 0) arrive(id);
  }
  while (!ready.empty()) {
    const int id = ready.top().second;
    ready.pop();
    made_.rank[IndexOf(id)] = static_cast<int>(made_.order.size());
    made_.order.push_back(id);
    for (const int next : successors_[id]) {
      if (--waiting[IndexOf(next)] == 0) arrive(next);
    }
  }
  LANESCOPE_CHECK(made_.order.size() == tasks);
}

// The first launch that is less urgent than the copy, or as urgent and made later, among those after what
// the copy waits for.
int TaskOrder::PositionOf(const CopyOrder& copy) const {
  if (copy.first_reader < 0) return tasks_.num_tasks();
  const int last = rank(copy.first_reader);
  if (made_.all_equal) return last;
  int position = copy.after + 1;
  for (; position < last; ++position) {
    const int launch = task_at(position);
    if (urgency(launch) < copy.priority) break;
    if (urgency(launch) == copy.priority && launch >= copy.first_reader) break;
  }
  return position;
}

}  // namespace lanescope::sims
