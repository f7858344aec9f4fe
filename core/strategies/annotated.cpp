// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/strategy.h"

namespace lanescope {

// Places as TensorFlow would: device fields, colocation, and the placer's defaults.
Placement PlaceAnnotated(const StrategyInput& input) {
  return PlaceGraph(input.graph, input.machine, input.placer);
}

}  // namespace lanescope
