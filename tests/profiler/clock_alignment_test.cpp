// SPDX-License-Identifier: Apache-2.0
#include "profiler/clock_alignment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/clock.h"

namespace lanescope::profiler {
namespace {

// The true offset lies within the uncertainty that is reported.
TEST(ClockAlignmentTest, AKnownOffsetIsFoundWithinItsUncertainty) {
  for (const int64_t offset :
       {int64_t{0}, int64_t{12345678}, int64_t{-5000000000}, int64_t{1700000000000000000}}) {
    const ClockOffset measured = MeasureClock([&] { return NowNs() + offset; });
    EXPECT_LE(std::abs(measured.offset_ns - offset), measured.uncertainty_ns) << offset;
    EXPECT_GE(measured.uncertainty_ns, 0);
    EXPECT_EQ(measured.readings, 100);
  }
}

// A clock that is slow to read in most tries: the narrowest bracket decides.
TEST(ClockAlignmentTest, TheNarrowestBracketDecides) {
  int reading = 0;
  const ClockOffset measured = MeasureClock([&] {
    const int64_t from = NowNs();
    if (reading++ != 50) {
      while (NowNs() - from < 20000) {
      }
    }
    return NowNs() + 1000000;
  });
  EXPECT_LT(measured.uncertainty_ns, 10000);
  EXPECT_NEAR(static_cast<double>(measured.offset_ns), 1000000,
              static_cast<double>(measured.uncertainty_ns) + 1);
}

}  // namespace
}  // namespace lanescope::profiler
