// SPDX-License-Identifier: Apache-2.0
// The placer of the TensorFlow white paper (Abadi et al., "TensorFlow: Large-Scale Machine Learning on
// Heterogeneous Distributed Systems", 2015, section 3.2.1), which was never released: a simulated execution
// from the sources on; each node that is reached goes to the feasible device on which it would finish
// soonest, with the time to bring its inputs there counted.
#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "core/strategies/list_schedule.h"
#include "core/strategies/strategy.h"

namespace lanescope {

Placement PlaceGreedy(const StrategyInput& input) {
  const TaskGraph tasks(input);
  ListSchedule schedule(tasks);
  // Nodes are reached in the order in which the simulated execution makes them ready.
  const auto reached = [&](int task) {
    int64_t at = 0;
    for (const int before : tasks.task(task).after) at = std::max(at, schedule.end(before));
    for (const TaskRead& read : tasks.task(task).reads) {
      if (const int producer = tasks.tensor(read.tensor).producer; producer >= 0)
        at = std::max(at, schedule.end(producer));
    }
    return at;
  };
  using Reached = std::pair<int64_t, int>;  // when, and which task
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> front;
  for (const int task : schedule.First()) front.emplace(reached(task), task);
  while (!front.empty()) {
    const int next = front.top().second;
    front.pop();
    DeviceId best;
    int64_t best_end = 0;
    for (const DeviceId device : schedule.Candidates(next)) {
      const int64_t end = schedule.Try(next, device).end;
      if (best.exists() && end >= best_end) continue;
      best = device;
      best_end = end;
    }
    for (const int task : schedule.Commit(next, best).ready) front.emplace(reached(task), task);
  }
  return schedule.ToPlacement(input);
}

}  // namespace lanescope
