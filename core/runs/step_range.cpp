// SPDX-License-Identifier: Apache-2.0
#include "core/runs/step_range.h"

#include <algorithm>
#include <cmath>

namespace lanescope {

bool CannotTell(const StepRange& a, const StepRange& b) {
  if (!a.known() || !b.known()) return false;
  return std::min(a.high_ns, b.high_ns) - std::max(a.low_ns, b.low_ns) > std::abs(a.step_ns - b.step_ns);
}

}  // namespace lanescope
