// SPDX-License-Identifier: Apache-2.0
#include "core/time/timer_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lanescope {
namespace {

// The earliest timer is the first minimum of the array of times, whatever was set before.
TEST(TimerTree, EqualsASearchThroughAllTimers) {
  std::mt19937 random(1);
  for (const size_t count : {1u, 2u, 3u, 7u, 8u, 16u, 33u, 65u, 600u}) {
    TimerTree tree(count);
    std::vector<Ticks> times(count, kNever);
    for (int i = 0; i < 2000; ++i) {
      const size_t timer = random() % count;
      times[timer] = random() % 4 == 0 ? kNever : static_cast<Ticks>(random() % 9);
      if (random() % 3 > 0) {  // several at once
        tree.Change(static_cast<int>(timer), times[timer]);
        continue;
      }
      tree.Apply();
      tree.Set(static_cast<int>(timer), times[timer]);
      const auto least = std::min_element(times.begin(), times.end());
      ASSERT_EQ(tree.EarliestTime(), *least);
      if (*least == kNever) continue;
      ASSERT_EQ(tree.Earliest(), least - times.begin());
    }
  }
}

}  // namespace
}  // namespace lanescope
