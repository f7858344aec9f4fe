// SPDX-License-Identifier: Apache-2.0
// How far two clocks are apart.
#pragma once

#include <cstdint>
#include <functional>

namespace lanescope::profiler {

struct ClockOffset {
  int64_t at_ns = 0;           // CLOCK_MONOTONIC of the reading
  int64_t offset_ns = 0;       // by which the other clock is ahead
  int64_t uncertainty_ns = 0;  // half the width of the bracket: the true offset is not further away
  int readings = 0;
};

// Reads `clock` between two readings of NowNs, `readings` times, and keeps the narrowest bracket:
// the clock was read somewhere inside it, so its middle is wrong by at most half its width.
ClockOffset MeasureClock(const std::function<int64_t()>& clock, int readings = 100);

}  // namespace lanescope::profiler
