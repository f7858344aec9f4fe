// SPDX-License-Identifier: Apache-2.0
#include "exec/measure/core_speeds.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <vector>

namespace lanescope::exec {
namespace {

// Law: a product of 64 x 64 matrices takes more than its 524288 operations at 10^15 a second, less than a
// second, and the quickest of some about the same each time.
TEST(CoreSpeeds, TakesTheSameWorkEachTime) {
  CoreSpeeds speeds;
  const auto quickest = [&] {
    std::vector<int64_t> taken;
    for (int i = 0; i < 20; ++i) taken.push_back(speeds.Take());
    return *std::min_element(taken.begin(), taken.end());
  };
  const int64_t first = quickest(), second = quickest();
  EXPECT_GT(first, 524);
  EXPECT_LT(first, int64_t{1'000'000'000'000});
  EXPECT_LT(first, 5 * second);
  EXPECT_LT(second, 5 * first);
}

// Its threads leave the caller where it was.
TEST(CoreSpeeds, TheCallerKeepsItsCores) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CoreSpeeds().Take();
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace lanescope::exec
