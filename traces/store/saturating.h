// SPDX-License-Identifier: Apache-2.0
// Sums of what files say, which may be anything. Internal to traces.
#pragma once

#include <cstdint>
#include <limits>

namespace lanescope::traces {

inline int64_t AddSaturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

}  // namespace lanescope::traces
