#include "sims/fetch_cost.h"

#include <algorithm>

namespace lanescope::sims {

int64_t FetchCurve::Ns(int64_t bytes) const {
  Point before;
  for (const Point& point : points_) {
    if (bytes <= point.bytes) {
      const double share =
          static_cast<double>(bytes - before.bytes) / static_cast<double>(point.bytes - before.bytes);
      return before.ns + static_cast<int64_t>(share * static_cast<double>(point.ns - before.ns));
    }
    before = point;
  }
  return before.ns;
}

std::vector<int64_t> FetchedBytes(const Schedule& schedule, const Machine& machine) {
  std::vector<int64_t> fetched(schedule.commands.size(), 0);
  for (size_t c = 0; c < schedule.commands.size(); ++c) {
    const Command& copy = schedule.commands[c];
    if (copy.kind != CommandKind::kCopy) continue;
    int reader = -1;
    for (const int next : schedule.Successors(static_cast<int>(c))) {
      const Command& launch = schedule.commands[static_cast<size_t>(next)];
      if (launch.kind != CommandKind::kLaunch) continue;
      const int device = schedule.queues[launch.queue].device;
      const DeviceKind kind = machine.device(device).kind;
      if (kind != DeviceKind::kHost && kind != DeviceKind::kVirtual) continue;
      if (reader < 0 || launch.rank < schedule.commands[static_cast<size_t>(reader)].rank) reader = next;
    }
    if (reader >= 0) fetched[static_cast<size_t>(reader)] += copy.bytes;
  }
  return fetched;
}

}  // namespace lanescope::sims
