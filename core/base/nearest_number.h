// SPDX-License-Identifier: Apache-2.0
// Numbers that would do in place of one that does not divide, for messages.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lanescope {

// The number nearest to `part`, from 1, that divides `whole`, from 1; the smaller of two.
inline int64_t NearestDivisor(int64_t whole, int64_t part) {
  for (int64_t away = 0; away < part; ++away) {
    if (whole % (part - away) == 0) return part - away;
    if (part + away <= whole && whole % (part + away) == 0) return part + away;
  }
  return 1;
}

// The multiple of `part`, from 1, that is nearest to `whole`, and one of them at least; the larger of two.
inline int64_t NearestMultiple(int64_t whole, int64_t part) {
  return std::max(part, (whole + part / 2) / part * part);
}

}  // namespace lanescope
