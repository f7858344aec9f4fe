// SPDX-License-Identifier: Apache-2.0
#include "core/base/statistics.h"

#include <gtest/gtest.h>

namespace lanescope {
namespace {

TEST(StatisticsTest, MedianOfOddAndEven) {
  EXPECT_EQ(Median(std::vector<int64_t>{5}), 5);
  EXPECT_EQ(Median(std::vector<int64_t>{9, 1, 5}), 5);
  EXPECT_EQ(Median(std::vector<int64_t>{9, 1}), 5);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 2, 3}), 2.5);
}

// NumPy: percentile([1, 2, 3, 4, 10], [0, 25, 90, 100]) = 1, 2, 7.6, 10.
TEST(StatisticsTest, QuantilesAsNumPy) {
  const std::vector<int64_t> samples = {10, 1, 3, 2, 4};
  EXPECT_DOUBLE_EQ(Quantile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(samples, 0.25), 2);
  EXPECT_DOUBLE_EQ(Quantile(samples, 0.9), 7.6);
  EXPECT_DOUBLE_EQ(Quantile(samples, 1), 10);
  EXPECT_DOUBLE_EQ(Quantile(std::vector<double>{7}, 0.9), 7);
}

// One in four of eight: the two lowest and the two highest do not count.
TEST(StatisticsTest, TrimmedMeanLeavesTheEndsOut) {
  EXPECT_DOUBLE_EQ(TrimmedMean(std::vector<int64_t>{1000, 1, 5, 4, 0, 6, 9, 900}, 4), 6);
  EXPECT_DOUBLE_EQ(TrimmedMean(std::vector<double>{1, 2, 6}, 10), 3);
}

}  // namespace
}  // namespace lanescope
