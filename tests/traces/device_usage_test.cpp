// SPDX-License-Identifier: Apache-2.0
#include "traces/report/device_usage.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lanescope::traces {
namespace {

constexpr int64_t kSpanNs = 2000;

std::vector<Interval> RandomIntervals(std::mt19937* rng) {
  IntervalSet set;
  for (int i = 0; i < 60; ++i) {
    const auto start = static_cast<int64_t>((*rng)() % kSpanNs);
    set.Add(start, start + static_cast<int64_t>((*rng)() % 25));
  }
  const std::span<const Interval> merged = set.Union();
  return {merged.begin(), merged.end()};
}

bool IsIn(const std::vector<Interval>& intervals, int64_t time) {
  for (const Interval& interval : intervals) {
    if (interval.start <= time && time < interval.end) return true;
  }
  return false;
}

// Each ns of a window counts in the first that applies, whatever lies outside the window.
TEST(DeviceUsageTest, OfAWindowIsWhatEachMomentOfItSays) {
  std::mt19937 rng(7);
  DeviceIntervals device;
  for (auto* part :
       {&device.compute, &device.communication, &device.copies, &device.local_copies, &device.memsets})
    *part = RandomIntervals(&rng);
  for (int64_t start = 0; start < kSpanNs; start += 130) {
    const Interval window{start, start + 130};
    DeviceTime expected;
    Communication moved;
    for (int64_t time = window.start; time < window.end; ++time) {
      const bool computes = IsIn(device.compute, time), talks = IsIn(device.communication, time);
      const bool local = IsIn(device.local_copies, time);
      const bool moves = IsIn(device.copies, time), copies = moves || local;
      expected.compute_ns += computes;
      expected.communication_ns += talks;
      expected.exposed_ns += talks && !computes;
      expected.copies_ns += copies;
      expected.exposed_copies_ns += copies && !computes && !talks;
      expected.idle_ns += !computes && !talks && !copies && !IsIn(device.memsets, time);
      moved.compute_ns += computes || local;
      moved.exposed_ns += (talks || moves) && !computes && !local;
    }
    const DeviceTime time = TimeWithin(device, {&window, 1});
    EXPECT_EQ(time.window_ns, 130);
    EXPECT_EQ(time.compute_ns, expected.compute_ns);
    EXPECT_EQ(time.communication_ns, expected.communication_ns);
    EXPECT_EQ(time.exposed_ns, expected.exposed_ns);
    EXPECT_EQ(time.copies_ns, expected.copies_ns);
    EXPECT_EQ(time.exposed_copies_ns, expected.exposed_copies_ns);
    EXPECT_EQ(time.idle_ns, expected.idle_ns);
    const Communication communication = CommunicationWithin(device, {&window, 1});
    EXPECT_EQ(communication.compute_ns, moved.compute_ns);
    EXPECT_EQ(communication.exposed_ns, moved.exposed_ns);
  }
}

}  // namespace
}  // namespace lanescope::traces
