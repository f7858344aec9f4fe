// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/earliest_start.h"

#include <algorithm>
#include <numeric>

#include "core/strategies/ready_pairs.h"

namespace lanescope {
namespace {

// Tasks by falling rank, then by number.
std::vector<int> ByUrgency(const std::vector<double>& rank) {
  std::vector<int> order(rank.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return rank[static_cast<size_t>(a)] > rank[static_cast<size_t>(b)]; });
  return order;
}

}  // namespace

Placement PlaceByEarliestStart(const StrategyInput& input, const TaskGraph& tasks,
                               const std::vector<int>& favourite_child) {
  const std::vector<int> order = ByUrgency(UpwardRanks(tasks));
  std::vector<int> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[static_cast<size_t>(order[i])] = static_cast<int>(i);
  ListSchedule schedule(tasks);
  ReadyPairs pairs(tasks, schedule, position);
  IdVector<DeviceId, int> last(tasks.machine().devices.size(), -1);  // the task put there last
  std::vector<bool> done(order.size(), false);
  // A task that waits for a device's favourite would delay it for others.
  const auto best_on = [&](DeviceId device) {
    const int before = last[device];
    const int favourite = before < 0 ? -1 : favourite_child[static_cast<size_t>(before)];
    if (favourite < 0 || done[static_cast<size_t>(favourite)]) return pairs.BestOn(device, 0);
    return std::min(pairs.BestOn(device, schedule.end(before) + tasks.LaunchNs(favourite, device)),
                    pairs.Of(favourite, device));
  };
  for (const int task : schedule.First()) pairs.Add(task);
  for (size_t committed = 0; committed < order.size(); ++committed) {
    ReadyPairs::Choice best;
    for (const DeviceId device : last.ids()) best = std::min(best, best_on(device));
    const int task = order[static_cast<size_t>(best.position)];
    const ListSchedule::Change& change = schedule.Commit(task, best.device);
    last[best.device] = task;
    done[static_cast<size_t>(task)] = true;
    pairs.Remove(task);
    for (const int touched : change.touched) pairs.Renew(touched);
    for (const int ready : change.ready) pairs.Add(ready);
  }
  return schedule.ToPlacement(input);
}

}  // namespace lanescope
