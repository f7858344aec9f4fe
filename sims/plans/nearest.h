// SPDX-License-Identifier: Apache-2.0
// The name that was meant by one that is not known. Internal to sims/plans.
#pragma once

#include <string>
#include <string_view>

#include "core/base/edit_distance.h"

namespace lanescope::sims::plans {

// "; did you mean tp?" where one of `names`, a range of string views, is near; else empty.
template <typename Names>
std::string DidYouMean(std::string_view name, const Names& names) {
  const std::string_view near = NearName(name, names);
  return near.empty() ? "" : "; did you mean " + std::string(near) + "?";
}

}  // namespace lanescope::sims::plans
