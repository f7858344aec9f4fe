// SPDX-License-Identifier: Apache-2.0
// Vectorising functions against the C library in double: errors in units of the last place, and special
// values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "exec/functors/cast.h"
#include "exec/functors/float_math.h"
#include "exec/functors/unary.h"

namespace lanescope::exec::functors {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Largest error in units in the last place of the result over floats that are spread evenly over their bit
// patterns, so that every magnitude is met.
template <typename F, typename G>
double WorstError(F function, G reference, float low, float high) {
  double worst = 0;
  for (int64_t bits = 0; bits < (int64_t{1} << 32); bits += 2503) {
    const float x = FloatOf(static_cast<int32_t>(static_cast<uint32_t>(bits)));
    if (!(x >= low && x <= high)) continue;
    const double expected = reference(static_cast<double>(x));
    const auto rounded = static_cast<float>(expected);
    if (!std::isfinite(rounded)) continue;
    const float next = std::nextafter(std::abs(rounded), kInfinity);
    const double unit = static_cast<double>(next) - std::abs(static_cast<double>(rounded));
    worst = std::max(worst, std::abs(static_cast<double>(function(x)) - expected) / unit);
  }
  return worst;
}

TEST(FloatMath, StaysWithinAFewUnitsInTheLastPlace) {
  EXPECT_LT(WorstError(
                ExpFloat, [](double x) { return std::exp(x); }, -104, 88.7f),
            1.5);
  EXPECT_LT(WorstError(
                Expm1Float, [](double x) { return std::expm1(x); }, -100, 88.7f),
            2.5);
  EXPECT_LT(WorstError(
                LogFloat, [](double x) { return std::log(x); }, 0, kInfinity),
            1.5);
  EXPECT_LT(WorstError(
                Log1pFloat, [](double x) { return std::log1p(x); }, -0.999999f, 1e38f),
            3.0);
  EXPECT_LT(WorstError(
                TanhFloat, [](double x) { return std::tanh(x); }, -20, 20),
            2.5);
  EXPECT_LT(WorstError(
                ErfFloat, [](double x) { return std::erf(x); }, -6, 6),
            2.5);
  EXPECT_LT(WorstError(
                Sigmoid(), [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80),
            3.0);
}

TEST(FloatMath, SpecialValuesAreThoseOfTheLibrary) {
  for (float x : {0.0f, -0.0f, kInfinity, -kInfinity, kNan, 1.0f, -1.0f, 1e-40f, -1e-40f, 200.0f, -200.0f}) {
    const auto same = [&](float actual, float expected, const char* name) {
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << name << " of " << x;
      } else {
        EXPECT_NEAR(actual, expected, std::isinf(expected) ? 0.0 : 2e-7 * std::abs(expected))
            << name << " of " << x;
        EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << name << " of " << x;
      }
    };
    const auto inf_safe = [&](float actual, float expected, const char* name) {
      if (std::isinf(expected)) {
        EXPECT_EQ(actual, expected) << name << " of " << x;
      } else {
        same(actual, expected, name);
      }
    };
    inf_safe(ExpFloat(x), std::exp(x), "exp");
    inf_safe(Expm1Float(x), std::expm1(x), "expm1");
    inf_safe(LogFloat(x), std::log(x), "log");
    inf_safe(Log1pFloat(x), std::log1p(x), "log1p");
    inf_safe(TanhFloat(x), std::tanh(x), "tanh");
    inf_safe(ErfFloat(x), std::erf(x), "erf");
  }
}

TEST(Cast, OutOfRangeFollowsX86) {
  EXPECT_EQ((Cast<int32_t, float>()(kNan)), std::numeric_limits<int32_t>::min());
  EXPECT_EQ((Cast<int32_t, float>()(3e9f)), std::numeric_limits<int32_t>::min());
  EXPECT_EQ((Cast<int64_t, float>()(1e20f)), std::numeric_limits<int64_t>::min());
  EXPECT_EQ((Cast<uint8_t, float>()(300.7f)), 44);
  EXPECT_EQ((Cast<uint8_t, float>()(-1.5f)), 255);
  EXPECT_EQ((Cast<uint32_t, float>()(-3e9f)), 1294967296u);
  EXPECT_TRUE((Cast<bool, float>()(kNan)));
}

}  // namespace
}  // namespace lanescope::exec::functors
