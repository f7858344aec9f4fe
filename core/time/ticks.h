// SPDX-License-Identifier: Apache-2.0
// The simulator's clock. Virtual time is an integer count of 1/1024 ns: launches last whole ns and stay
// exact, and the end of a copy on a shared link, which falls anywhere, is rounded by half a picosecond
// instead of half a nanosecond, so that chains of copies do not drift. Internal to core and sims.
#pragma once

#include <cstdint>

namespace lanescope {

using Ticks = int64_t;
inline constexpr int kTickBits = 10;
inline constexpr double kTicksPerNs = 1 << kTickBits;
// 26 days. Longer durations are refused, so that sums of two times cannot overflow.
inline constexpr int64_t kMaxSimulatedNs = int64_t{1} << 51;
inline constexpr Ticks kMaxTicks = kMaxSimulatedNs << kTickBits;
inline constexpr Ticks kNever = INT64_MAX;

inline Ticks TicksOf(int64_t ns) { return ns << kTickBits; }
// Rounded to the nearest ns.
inline int64_t NsOf(Ticks ticks) { return (ticks + (Ticks{1} << (kTickBits - 1))) >> kTickBits; }

}  // namespace lanescope
