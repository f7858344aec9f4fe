// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dispatch.h"

namespace lanescope {

IdVector<QueueId, std::vector<CommandId>> QueueOrders(const Schedule& schedule) {
  IdVector<QueueId, std::vector<CommandId>> orders(schedule.queues.size());
  for (const CommandId c : schedule.commands.ids()) {
    const QueueId queue = schedule.commands[c].queue;
    if (schedule.queues[queue].in_order) orders[queue].push_back(c);
  }
  return orders;
}

}  // namespace lanescope
