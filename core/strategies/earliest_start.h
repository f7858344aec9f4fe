// SPDX-License-Identifier: Apache-2.0
// The loop that m-etf and m-sct share: of all ready tasks and devices with room, the pair that can start
// first. Internal to core.
#pragma once

#include <vector>

#include "core/strategies/list_schedule.h"
#include "core/strategies/strategy.h"

namespace lanescope {

// `favourite_child`: by task, the successor that should follow it on its device; -1: none. A device whose
// last task waits for its favourite is kept for it as long as others would delay it: they count with the time
// at which the favourite could have been done. Ties go to the larger upward rank, then the smaller number.
// The rule looks at starts alone, so it is for equal devices: the host gets what has no kernel on a GPU, or
// no room there; devices without room are left out unless there is no other.
Placement PlaceByEarliestStart(const StrategyInput& input, const TaskGraph& tasks,
                               const std::vector<int>& favourite_child);

}  // namespace lanescope
