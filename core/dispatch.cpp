#include "core/dispatch.h"

namespace lanescope {

std::vector<std::vector<int>> QueueOrders(const Schedule& schedule) {
  std::vector<std::vector<int>> orders(schedule.queues.size());
  for (size_t c = 0; c < schedule.commands.size(); ++c) {
    const auto queue = static_cast<size_t>(schedule.commands[c].queue);
    if (schedule.queues[queue].in_order) orders[queue].push_back(static_cast<int>(c));
  }
  return orders;
}

}  // namespace lanescope
