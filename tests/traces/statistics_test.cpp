// SPDX-License-Identifier: Apache-2.0
#include "traces/report/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/base/statistics.h"
#include "core/time/intervals.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/store/copy_class.h"

namespace lanescope::traces {
namespace {

// NumPy: percentile([1, 2, 3, 4, 10], [25, 50, 75]) = 2, 3, 4; percentile([1, 2, 3, 4], ..)
// = 1.75, 2.5, 3.25.
TEST(StatisticsTest, PercentilesAsNumPy) {
  const std::vector<int64_t> odd = {10, 1, 3, 2, 4}, even = {4, 3, 2, 1};
  const Spread a = *SpreadOf(odd), b = *SpreadOf(even);
  EXPECT_DOUBLE_EQ(a.p25, 2);
  EXPECT_DOUBLE_EQ(a.median, 3);
  EXPECT_DOUBLE_EQ(a.p75, 4);
  EXPECT_EQ(a.min, 1);
  EXPECT_EQ(a.max, 10);
  EXPECT_DOUBLE_EQ(b.p25, 1.75);
  EXPECT_DOUBLE_EQ(b.median, 2.5);
  EXPECT_DOUBLE_EQ(b.p75, 3.25);
  EXPECT_FALSE(SpreadOf({}).has_value());
  EXPECT_DOUBLE_EQ(SpreadOf(std::vector<int64_t>{7})->p25, 7);
}

TEST(IntervalsTest, UnionOfOverlappingTouchingAndUnsorted) {
  IntervalSet set;
  for (const auto& [start, end] :
       std::vector<std::pair<int, int>>{{10, 20}, {15, 30}, {30, 35}, {50, 60}, {5, 12}}) {
    set.Add(start, end);
  }
  ASSERT_EQ(set.Union().size(), 2u);
  EXPECT_EQ(set.Union()[0].start, 5);
  EXPECT_EQ(set.Union()[0].end, 35);
  EXPECT_EQ(TotalLength(set.Union()), 40);
}

// |A ∪ B| = |A| + |B| - |A ∩ B|, against a bitmap.
TEST(IntervalsTest, UnionAndIntersectionAgreeWithABitmap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> bits(300, 0);
    IntervalSet sets[2];
    for (int which = 0; which < 2; ++which) {
      for (int i = 0; i < 20; ++i) {
        const int start = static_cast<int>(random() % 280), end = start + static_cast<int>(random() % 20);
        sets[which].Add(start, end);
        for (int t = start; t < end; ++t) bits[static_cast<size_t>(t)] |= 1 << which;
      }
    }
    const auto a = sets[0].Union(), b = sets[1].Union();
    EXPECT_EQ(IntersectionLength(a, b), std::count(bits.begin(), bits.end(), 3));
    EXPECT_EQ(TotalLength(UnionOf(a, b)), 300 - std::count(bits.begin(), bits.end(), 0));
  }
}

TEST(CopyClassTest, EndsDecide) {
  constexpr int kHosts[] = {-1};
  const auto classify = [&](CopyColumns columns) { return ClassifyCopy(columns, kHosts); };
  EXPECT_EQ(classify({1, 0, 2, 3, {}, {}}).copy_class, CopyClass::kHostToDevice);
  EXPECT_EQ(classify({1, 0, 2, 3, {}, {}}).dst, 3);
  EXPECT_EQ(classify({2, {}, {}, 3, {}, {}}).copy_class, CopyClass::kDeviceToHost);
  EXPECT_EQ(classify({8, 2, 2, 3, {}, {}}).copy_class, CopyClass::kWithinDevice);
  EXPECT_EQ(classify({8, 2, 2, 3, 3, 4}).copy_class,
            CopyClass::kDeviceToDevice);  // logical devices on one GPU
  EXPECT_EQ(classify({10, 2, 2, 3, 3, 4}).dst, 4);
  EXPECT_EQ(classify({10, 2, 2, 3, {}, {}}).copy_class, CopyClass::kDeviceToDevice);
  EXPECT_EQ(classify({10, 1, 2, 3, 0, 3}).copy_class,
            CopyClass::kHostToDevice);  // pinned, labelled peer to peer
  EXPECT_EQ(classify({11, 7, 7, 0, {}, {}}).copy_class, CopyClass::kHostToDevice);
  EXPECT_EQ(classify({9, 0, 0, 0, {}, {}}).copy_class, CopyClass::kHostToHost);
}

// Among several hosts a column names one; where it names none, or a device, the first counts.
TEST(CopyClassTest, HostsAreToldApart) {
  constexpr int kHosts[] = {5, 6};
  const auto ends = [&](CopyColumns columns) {
    const CopyRoute route = ClassifyCopy(columns, kHosts);
    return std::pair(route.src, route.dst);
  };
  EXPECT_EQ(ends({9, 0, 0, 6, 6, 5}), std::pair(6, 5));
  EXPECT_EQ(ends({1, 0, 2, 3, 6, 3}), std::pair(6, 3));
  EXPECT_EQ(ends({2, 2, 0, 3, 3, 6}), std::pair(3, 6));
  EXPECT_EQ(ends({1, 0, 2, 3, {}, {}}), std::pair(5, 3));
  EXPECT_EQ(ends({1, 0, 2, 3, 0, 3}), std::pair(5, 3));
}

// Two steps of 1000 ns: GPU:0 runs 300 of each, GPU:1 300, CPU:0 100.
TEST(RunStatisticsTest, BusySharesCopiesAndSteps) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 2);
  writer.Close();
  const RunStatistics statistics = ComputeStatistics(TraceReader(file.path()).ReadRun(1));
  EXPECT_EQ(statistics.steps, 2);
  EXPECT_DOUBLE_EQ(statistics.step_ns->median, 1000);
  EXPECT_DOUBLE_EQ(statistics.busy.at(0), 0.3);
  EXPECT_DOUBLE_EQ(statistics.busy.at(1), 0.3);
  EXPECT_DOUBLE_EQ(statistics.busy.at(2), 0.1);
  EXPECT_EQ(statistics.Copies(CopyClass::kDeviceToDevice).count, 2);
  EXPECT_EQ(statistics.Copies(CopyClass::kDeviceToDevice).bytes, 64);
  EXPECT_EQ(statistics.Copies(CopyClass::kDeviceToDevice).ns, 400);
  EXPECT_EQ(statistics.Copies(CopyClass::kWithinDevice).count, 0);
  EXPECT_EQ(statistics.peak_bytes.at(0), 1096);
}

}  // namespace
}  // namespace lanescope::traces
