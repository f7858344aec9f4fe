// SPDX-License-Identifier: Apache-2.0
// The name that is most like one that is not known. Internal to sims/plans.
#pragma once

#include <string_view>

#include "core/base/edit_distance.h"

namespace lanescope::sims::plans {

// `names`: a range of string views, not empty.
template <typename Names>
std::string_view NearestName(std::string_view name, const Names& names) {
  std::string_view nearest;
  size_t least = 1000;
  for (const std::string_view other : names) {
    const size_t distance = EditDistance(name.substr(0, 100), other, 1000);
    if (distance < least) {
      least = distance;
      nearest = other;
    }
  }
  return nearest;
}

}  // namespace lanescope::sims::plans
