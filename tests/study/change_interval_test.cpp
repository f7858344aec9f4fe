// SPDX-License-Identifier: Apache-2.0
// Intervals of changes beside values of tables, and by hand.
#include "study/gate/change_interval.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lanescope::study {
namespace {

// Quantiles of Student's t as tables have them.
TEST(ChangeInterval, StudentQuantiles) {
  EXPECT_NEAR(StudentQuantile(0.025, 1), 12.7062, 1e-3);
  EXPECT_NEAR(StudentQuantile(0.005, 3), 5.8409, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.025, 10), 2.2281, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.005, 1e6), 2.5758, 1e-4);
}

// Ten pairs with differences 1..10 have 55 means of two; tables of signed ranks leave out 8 at 0.025 (the
// critical value), so the ninth smallest bounds the interval: 1, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3.
TEST(ChangeInterval, SignedRanks) {
  std::vector<double> differences(10);
  std::iota(differences.begin(), differences.end(), 1.0);
  const auto change = PairedChange(differences, 0.025);
  ASSERT_TRUE(change.has_value());
  EXPECT_DOUBLE_EQ(change->low, 3);
  EXPECT_DOUBLE_EQ(change->high, 8);
  EXPECT_DOUBLE_EQ(change->value, 5.5);
}

// In twenty pairs three are off by a thousand: by signs, at 0.005 the three smallest and largest go (0.0013
// of all signs have so few of one kind; with a fourth 0.0059), so that 4 and 17 of 1..20 bound.
TEST(ChangeInterval, GrossRoundsCountForTheirSigns) {
  std::vector<double> differences(20);
  std::iota(differences.begin(), differences.end(), 1.0);
  for (size_t i = 17; i < 20; ++i) differences[i] *= 1000;
  const auto change = PairedChange(differences, 0.005);
  ASSERT_TRUE(change.has_value());
  EXPECT_DOUBLE_EQ(change->low, 4);
  EXPECT_DOUBLE_EQ(change->high, 17);
  EXPECT_DOUBLE_EQ(change->value, 10.5);
}

// All signs alike happen once in 2^n.
TEST(ChangeInterval, FewestPairs) {
  EXPECT_EQ(FewestPairs(0.005), 8);
  EXPECT_EQ(FewestPairs(0.025), 6);
  EXPECT_FALSE(PairedChange(std::vector<double>(7, 1.0), 0.005).has_value());
  EXPECT_TRUE(PairedChange(std::vector<double>(8, 1.0), 0.005).has_value());
  EXPECT_FALSE(PairedChange({}, 0.005).has_value());
}

// Tables of U: five and five at 0.025 have the critical value 2, so the third smallest of 25 differences
// bounds; four and four at 0.005 have none.
TEST(ChangeInterval, Ranks) {
  std::vector<double> differences(25);
  std::iota(differences.begin(), differences.end(), 1.0);
  const auto change = TwoSampleChange(differences, 5, 5, 0.025);
  ASSERT_TRUE(change.has_value());
  EXPECT_DOUBLE_EQ(change->low, 3);
  EXPECT_DOUBLE_EQ(change->high, 23);
  EXPECT_FALSE(TwoSampleChange(std::vector<double>(16), 4, 4, 0.005).has_value());
}

// Where counting gives way to a normal distribution the interval does not jump.
TEST(ChangeInterval, ManyRuns) {
  const auto width = [](int n) {
    std::vector<double> differences(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) differences[static_cast<size_t>(i)] = (i + 0.5) / n;
    const auto change = PairedChange(differences, 0.005);
    return change->high - change->low;
  };
  EXPECT_NEAR(width(401) / width(400), 1, 0.01);
}

TEST(ChangeInterval, SpreadWithoutErrorIsThePoint) {
  const ChangeInterval change = SpreadChange(0.1, 0, 3, 0.005);
  EXPECT_EQ(change.low, 0.1);
  EXPECT_EQ(change.high, 0.1);
}

}  // namespace
}  // namespace lanescope::study
