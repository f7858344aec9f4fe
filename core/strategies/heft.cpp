// SPDX-License-Identifier: Apache-2.0
// Heterogeneous Earliest Finish Time: Topcuoglu, Hariri and Wu, "Performance-Effective and Low-Complexity
// Task Scheduling for Heterogeneous Computing", IEEE TPDS 13(3), 2002. Tasks by falling upward rank, each
// into the earliest gap of the device where it finishes soonest.
#include <algorithm>
#include <numeric>

#include "core/strategies/list_schedule.h"
#include "core/strategies/strategy.h"

namespace lanescope {

Placement PlaceHeft(const StrategyInput& input) {
  const TaskGraph tasks(input);
  const std::vector<double> rank = UpwardRanks(tasks);
  std::vector<int> order(rank.size());
  std::iota(order.begin(), order.end(), 0);
  // A predecessor has no smaller rank than its successors, and a smaller number.
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return rank[static_cast<size_t>(a)] > rank[static_cast<size_t>(b)]; });
  ListSchedule schedule(tasks);
  for (const int task : order) {
    DeviceId best;
    int64_t best_end = 0;
    for (const DeviceId device : schedule.Candidates(task)) {
      const int64_t end = schedule.Try(task, device, true).end;
      if (best.exists() && end >= best_end) continue;
      best = device;
      best_end = end;
    }
    schedule.Commit(task, best, true);
  }
  return schedule.ToPlacement(input);
}

}  // namespace lanescope
