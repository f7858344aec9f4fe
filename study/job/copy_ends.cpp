// SPDX-License-Identifier: Apache-2.0
#include "study/job/copy_ends.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lanescope::study {

std::vector<Event> JoinCopyEnds(const std::vector<Event>& events,
                                const std::vector<const Schedule*>& schedules) {
  std::vector<Event> joined;
  std::map<std::tuple<int, int, CommandId>, size_t> places;
  for (const Event& event : events) {
    if (event.kind != EventKind::kCommand) {
      joined.push_back(event);
      continue;
    }
    const auto number = static_cast<size_t>(event.schedule);
    if (event.schedule < 0 || number >= schedules.size()) continue;
    const Schedule& schedule = *schedules[number];
    if (!schedule.commands.Contains(event.command)) continue;
    if (schedule.commands[event.command].kind == CommandKind::kCopy) {
      const auto [found, added] =
          places.try_emplace({event.schedule, event.step, event.command}, joined.size());
      if (!added) {
        Event& other = joined[found->second];
        other.start_ns = std::max(other.start_ns, event.start_ns);
        other.end_ns = std::max(other.end_ns, event.end_ns);
        continue;
      }
    }
    joined.push_back(event);
  }
  return joined;
}

}  // namespace lanescope::study
