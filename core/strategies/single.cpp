// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/strategy.h"

namespace lanescope {

// The first GPU (the host, where there is none) for everything that has a kernel there, whatever the device
// fields say. What has none there has none on any other GPU either.
Placement PlaceSingle(const StrategyInput& input) {
  const std::vector<DeviceId> gpus = input.machine.Gpus();
  const DeviceId device = gpus.empty() ? input.machine.host() : gpus.front();
  return PlaceWithWishes(input, IdVector<NodeId, DeviceId>(input.graph.num_nodes(), device));
}

}  // namespace lanescope
