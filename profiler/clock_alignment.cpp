// SPDX-License-Identifier: Apache-2.0
#include "profiler/clock_alignment.h"

#include "core/base/clock.h"

namespace lanescope::profiler {

ClockOffset MeasureClock(const std::function<int64_t()>& clock, int readings) {
  ClockOffset best;
  for (int i = 0; i < readings; ++i) {
    const int64_t before = NowNs(), other = clock(), after = NowNs();
    const int64_t half = (after - before + 1) / 2;
    if (i > 0 && half >= best.uncertainty_ns) continue;
    best = {before + half, other - (before + half), half, 0};
  }
  best.readings = readings;
  return best;
}

}  // namespace lanescope::profiler
