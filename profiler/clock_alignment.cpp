#include "profiler/clock_alignment.h"

#include <time.h>

namespace lanescope {

int64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

ClockOffset MeasureClock(const std::function<int64_t()>& clock, int readings) {
  ClockOffset best;
  for (int i = 0; i < readings; ++i) {
    const int64_t before = MonotonicNs(), other = clock(), after = MonotonicNs();
    const int64_t half = (after - before + 1) / 2;
    if (i > 0 && half >= best.uncertainty_ns) continue;
    best = {before + half, other - (before + half), half, 0};
  }
  best.readings = readings;
  return best;
}

}  // namespace lanescope
