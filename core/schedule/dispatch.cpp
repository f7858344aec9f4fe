#include "core/schedule/dispatch.h"

namespace lanescope {

int WorkersFor(const OpWork& work, int workers) {
  // A float read and a float written an element.
  constexpr int64_t kBytesPerElement = 8;
  const int64_t pieces = std::max(work.bytes / (kBytesPerElement * kPieceElements), work.flops / kPieceFlops);
  return static_cast<int>(std::clamp<int64_t>(pieces, 1, std::max(1, workers)));
}

int LaunchWorkers(const DeviceSpec& device) {
  const bool host = device.kind == DeviceKind::kHost || device.kind == DeviceKind::kVirtual;
  return host ? std::max(1, device.workers) : 1;
}

IdVector<QueueId, std::vector<CommandId>> QueueOrders(const Schedule& schedule) {
  IdVector<QueueId, std::vector<CommandId>> orders(schedule.queues.size());
  for (const CommandId c : schedule.commands.ids()) {
    const QueueId queue = schedule.commands[c].queue;
    if (schedule.queues[queue].in_order) orders[queue].push_back(c);
  }
  return orders;
}

}  // namespace lanescope
