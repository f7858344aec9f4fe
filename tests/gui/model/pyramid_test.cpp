// SPDX-License-Identifier: Apache-2.0
#include "gui/model/pyramid.h"

#include <gtest/gtest.h>

#include "gui/model/draw_rows.h"
#include "tests/gui/model/random_run.h"

namespace lanescope::gui {
namespace {

struct Row {
  Lane lane;
  RowSlices slices() const { return SlicesOfRow(lane, lane.rows.front()); }
  const RowSummary& summary() const { return lane.rows.front().summary; }
};

Row RandomRow(unsigned seed, int count) {
  std::mt19937 rng(seed);
  return {test::MakeLane(LaneRole::kCompute, 0, test::RandomSlices(&rng, count, 7))};
}

// Busy time of [from, to) by looking at every slice.
int64_t BusyByForce(const RowSlices& row, int64_t from, int64_t to) {
  int64_t busy = 0;
  for (size_t i = 0; i < row.start.size(); ++i) {
    busy += std::max<int64_t>(0, std::min(row.end[i], to) - std::max(row.start[i], from));
  }
  return busy;
}

TEST(PyramidTest, BusyTimeIsConservedAtEveryWidth) {
  const Row row = RandomRow(1, 50000);
  const RowSlices slices = row.slices();
  ASSERT_TRUE(row.summary().has_bins());
  const double begin = static_cast<double>(slices.start.front()),
               end = static_cast<double>(slices.end.back());
  const auto all = static_cast<double>(BusyByForce(slices, INT64_MIN, INT64_MAX));
  for (const double width :
       {row.summary().bin_ns(), 3.7 * row.summary().bin_ns(), (end - begin) / 700, end - begin}) {
    double sum = 0;
    for (double at = begin; at < end; at += width) sum += row.summary().FromBins(at, at + width).busy_ns;
    EXPECT_NEAR(sum, all, all * 1e-4) << width;
  }
}

TEST(PyramidTest, RangeOfWholeBinsEqualsBruteForce) {
  const Row row = RandomRow(2, 20000);
  const RowSlices slices = row.slices();
  const double bin = row.summary().bin_ns();
  const auto origin = static_cast<double>(slices.start.front());
  for (int i = 0; i < 300; ++i) {
    const double from = origin + 7 * i * bin, to = from + 5 * bin;
    const auto exact =
        static_cast<double>(BusyByForce(slices, static_cast<int64_t>(from), static_cast<int64_t>(to)));
    // The range covers coarser bins in part, which counts in proportion.
    EXPECT_NEAR(row.summary().FromBins(from, to).busy_ns, exact, 4 * bin + 2);
  }
}

TEST(PyramidTest, ExactEqualsBruteForce) {
  const Row row = RandomRow(3, 30000);
  const RowSlices slices = row.slices();
  std::mt19937 rng(4);
  const int64_t span = slices.end.back();
  for (int i = 0; i < 2000; ++i) {
    const auto from = static_cast<int64_t>(rng() % static_cast<uint64_t>(span));
    const int64_t to = from + 1 + static_cast<int64_t>(rng() % (i % 2 == 0 ? 100 : 200000));
    const RangeSummary summary = row.summary().Exact(slices, from, to);
    ASSERT_EQ(static_cast<int64_t>(summary.busy_ns), BusyByForce(slices, from, to));
    if (summary.longest == kNoSlice) continue;
    int64_t longest = 0;
    for (size_t k = 0; k < slices.start.size(); ++k) {
      longest = std::max(longest, std::min(slices.end[k], to) - std::max(slices.start[k], from));
    }
    const size_t found = summary.longest - slices.first;
    ASSERT_EQ(std::min(slices.end[found], to) - std::max(slices.start[found], from), longest);
    ASSERT_EQ(summary.op, slices.op[found]);
  }
}

TEST(PyramidTest, FewSlicesNeedNoSummary) {
  const Row row = RandomRow(5, 100);
  EXPECT_FALSE(row.summary().has_bins());
  EXPECT_EQ(row.summary().Exact(row.slices(), 0, INT64_C(1) << 40).busy_ns,
            static_cast<double>(BusyByForce(row.slices(), INT64_MIN, INT64_MAX)));
}

TEST(PyramidTest, CounterRangeEqualsBruteForce) {
  std::mt19937 rng(6);
  std::vector<int64_t> time, value;
  for (int i = 0; i < 1001; ++i) {
    time.push_back(10 * i + static_cast<int64_t>(rng() % 10));
    value.push_back(static_cast<int64_t>(rng() % 1000));
  }
  const CounterPyramid pyramid(value);
  EXPECT_FALSE(pyramid.Range(time, value, -50, time.front()).any);
  for (int i = 0; i < 3000; ++i) {
    const auto from = static_cast<int64_t>(rng() % 11000) - 100;
    const int64_t to = from + 1 + static_cast<int64_t>(rng() % 3000);
    CounterRange expected;
    for (size_t k = 0; k < time.size(); ++k) {
      const int64_t until = k + 1 < time.size() ? time[k + 1] : INT64_MAX;
      if (time[k] >= to || until <= from) continue;
      expected.low = expected.any ? std::min(expected.low, value[k]) : value[k];
      expected.high = expected.any ? std::max(expected.high, value[k]) : value[k];
      expected.any = true;
    }
    const CounterRange range = pyramid.Range(time, value, from, to);
    ASSERT_EQ(range.any, expected.any);
    ASSERT_EQ(range.low, expected.low);
    ASSERT_EQ(range.high, expected.high);
  }
}

}  // namespace
}  // namespace lanescope::gui
