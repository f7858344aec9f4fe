// SPDX-License-Identifier: Apache-2.0
// How groups of nodes agree on device types. Internal to core.
#pragma once

#include "core/place/device_table.h"

namespace lanescope {

// Types that both sides support. The order is that of the side that has priorities; where both have and
// disagree, priorities are dropped and the default order of types applies.
TypeChoices MergeTypes(const TypeChoices& target, const TypeChoices& other);

}  // namespace lanescope
