#include "core/strategies/earliest_start.h"

#include <algorithm>
#include <tuple>

namespace lanescope {

Placement PlaceByEarliestStart(const StrategyInput& input, const TaskGraph& tasks,
                               const std::vector<int>& favourite_child) {
  const std::vector<double> rank = UpwardRanks(tasks);
  ListSchedule schedule(tasks);
  const auto is_gpu = [&](DeviceId device) { return tasks.machine().device(device).is_gpu(); };
  IdVector<DeviceId, int> last(tasks.machine().devices.size(), -1);  // the task put there last
  std::vector<bool> done(rank.size(), false);
  while (!schedule.ready().empty()) {
    std::tuple<int, int64_t, double, int, DeviceId> best;  // how unwelcome, start, -rank, task, device
    bool found = false;
    for (const int task : schedule.ready()) {
      const std::vector<DeviceId> candidates = schedule.Candidates(task);
      const bool any_gpu = std::any_of(candidates.begin(), candidates.end(), is_gpu);
      for (const DeviceId device : candidates) {
        int64_t start = schedule.Try(task, device).start;
        const int before = last[device];
        const int favourite = before < 0 ? -1 : favourite_child[static_cast<size_t>(before)];
        if (favourite >= 0 && favourite != task && !done[static_cast<size_t>(favourite)])
          start = std::max(start, schedule.end(before) + tasks.LaunchNs(favourite, device));
        const int unwelcome = !schedule.Fits(task, device) ? 2 : any_gpu && !is_gpu(device) ? 1 : 0;
        const std::tuple choice{unwelcome, start, -rank[static_cast<size_t>(task)], task, device};
        if (found && best <= choice) continue;
        best = choice;
        found = true;
      }
    }
    const auto [unwelcome, start, urgency, task, device] = best;
    schedule.Commit(task, device);
    last[device] = task;
    done[static_cast<size_t>(task)] = true;
  }
  return schedule.ToPlacement(input);
}

}  // namespace lanescope
