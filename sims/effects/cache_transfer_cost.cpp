// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/cache_transfer_cost.h"

#include <algorithm>

namespace lanescope::sims {

int64_t CacheTransferCurve::Ns(int64_t bytes) const {
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

IdVector<CommandId, int64_t> FetchedBytes(const Schedule& schedule, const Machine& machine) {
  IdVector<CommandId, int64_t> fetched(schedule.commands.size(), 0);
  for (const CommandId c : schedule.commands.ids()) {
    const Command& copy = schedule.commands[c];
    if (copy.kind != CommandKind::kCopy) continue;
    CommandId reader;
    for (const CommandId next : schedule.Successors(c)) {
      const Command& launch = schedule.commands[next];
      if (launch.kind != CommandKind::kLaunch) continue;
      const DeviceId device = schedule.queues[launch.queue].device;
      if (!IsOfHostThreads(machine.device(device).kind)) continue;
      if (!reader.exists() || launch.rank < schedule.commands[reader].rank) reader = next;
    }
    if (reader.exists()) fetched[reader] += copy.bytes;
  }
  return fetched;
}

}  // namespace lanescope::sims
