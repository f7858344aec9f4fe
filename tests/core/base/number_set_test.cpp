// SPDX-License-Identifier: Apache-2.0
#include "core/base/number_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace lanescope {
namespace {

// The least member is that of an ordered set with the same history, for sizes of one to four levels.
TEST(NumberSet, EqualsAnOrderedSet) {
  std::mt19937 random(1);
  for (const size_t size : {1u, 2u, 63u, 64u, 65u, 4096u, 4097u, 300'000u}) {
    NumberSet numbers(size);
    std::set<size_t> expected;
    for (int i = 0; i < 3000; ++i) {
      if (random() % 5 < 3 || expected.empty()) {
        const size_t number = random() % size;
        if (!expected.insert(number).second) continue;
        numbers.Add(number);
      } else {
        expected.erase(expected.begin());
        numbers.RemoveLeast();
      }
      ASSERT_EQ(numbers.empty(), expected.empty());
      if (!expected.empty()) {
        ASSERT_EQ(numbers.Least(), *expected.begin()) << "of " << size;
      }
    }
    numbers.Clear();
    EXPECT_TRUE(numbers.empty());
    numbers.Add(size - 1);
    EXPECT_EQ(numbers.Least(), size - 1);
  }
}

TEST(NumberSet, OfNothingIsEmpty) { EXPECT_TRUE(NumberSet().empty()); }

}  // namespace
}  // namespace lanescope
