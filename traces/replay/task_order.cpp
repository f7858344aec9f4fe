// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <queue>

#include "core/base/error.h"
#include "traces/replay/change.h"

namespace lanescope::traces {
namespace {

// Which tasks come next: those that wait for nothing that has not come, the first of them by number.
class Sorter {
 public:
  explicit Sorter(const ReplayGraph& graph)
      : graph_(graph), after_(graph.tasks.size()), missing_(graph.tasks.size(), 0) {
    for (const std::vector<int>& parts : graph.collectives) parts_.push_back(std::ssize(parts));
    for (size_t i = 0; i < graph.tasks.size(); ++i) {
      for (const ReplayHold& hold : graph.holds[static_cast<int>(i)]) {
        if (hold.from < 0) continue;
        after_[static_cast<size_t>(hold.from)].push_back(static_cast<int>(i));
        ++missing_[i];
      }
    }
  }

  std::vector<int> Sort() {
    for (size_t i = 0; i < missing_.size(); ++i) {
      if (missing_[i] == 0) ready_.push(static_cast<int>(i));
    }
    std::vector<int> order;
    for (; !ready_.empty();) {
      const int task = ready_.top();
      ready_.pop();
      order.push_back(task);
      Finish(task);
    }
    return order;
  }

 private:
  // A task that waits for a collective waits for the last of its parts.
  void Finish(int task) {
    const int collective = graph_.tasks[static_cast<size_t>(task)].collective;
    if (collective < 0) return Release(task);
    if (--parts_[static_cast<size_t>(collective)] > 0) return;
    for (const int part : graph_.collectives[static_cast<size_t>(collective)]) Release(part);
  }
  void Release(int task) {
    for (const int later : after_[static_cast<size_t>(task)]) {
      if (--missing_[static_cast<size_t>(later)] == 0) ready_.push(later);
    }
  }

  const ReplayGraph& graph_;
  std::vector<std::vector<int>> after_;
  std::vector<int> missing_;
  std::vector<int64_t> parts_;  // by collective: that have not come
  std::priority_queue<int, std::vector<int>, std::greater<>> ready_;
};

}  // namespace

void AddHolds(const std::vector<std::vector<ReplayHold>>& more, ReplayGraph* graph) {
  Rows<ReplayHold> holds;
  for (size_t i = 0; i < graph->tasks.size(); ++i) {
    if (i < graph->holds.size()) {
      for (const ReplayHold& hold : graph->holds[static_cast<int>(i)]) holds.Append(hold);
    }
    for (const ReplayHold& hold : more[i]) holds.Append(hold);
    holds.EndRow();
  }
  graph->holds = std::move(holds);
}

void OrderTasks(ReplayGraph* graph) {
  const std::vector<int> order = Sorter(*graph).Sort();
  if (order.size() != graph->tasks.size())
    Throw(Code::kFailedPrecondition, "operations of the trace would wait for each other in a circle");
  std::vector<int> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[static_cast<size_t>(order[i])] = static_cast<int>(i);
  const auto moved = [&](int task) { return task < 0 ? -1 : position[static_cast<size_t>(task)]; };
  std::vector<ReplayTask> tasks;
  Rows<ReplayHold> holds;
  for (const int task : order) {
    tasks.push_back(graph->tasks[static_cast<size_t>(task)]);
    tasks.back().call = moved(tasks.back().call);
    for (ReplayHold hold : graph->holds[task]) {
      hold.from = moved(hold.from);
      holds.Append(hold);
    }
    holds.EndRow();
  }
  graph->tasks = std::move(tasks);
  graph->holds = std::move(holds);
  for (std::vector<int>& parts : graph->collectives) {
    for (int& part : parts) part = moved(part);
  }
}

}  // namespace lanescope::traces
