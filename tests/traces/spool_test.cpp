// SPDX-License-Identifier: Apache-2.0
#include "traces/import/spool.h"

#include <gtest/gtest.h>

#include <utility>

namespace lanescope::traces {
namespace {

// Values that do not fit into memory come back in order, also when the list has moved, and more than once.
TEST(SpoolTest, ValuesComeBackInOrder) {
  constexpr int64_t kValues = 300'001;
  Spool<int64_t> first;
  EXPECT_TRUE(first.empty());
  for (int64_t i = 0; i < kValues; ++i) first.push_back(i * i);
  const Spool<int64_t> moved = std::move(first);
  EXPECT_EQ(moved.size(), static_cast<size_t>(kValues));
  for (int pass = 0; pass < 2; ++pass) {
    int64_t next = 0;
    moved.ForEach([&](int64_t value) {
      ASSERT_EQ(value, next * next);
      ++next;
    });
    EXPECT_EQ(next, kValues);
  }
}

}  // namespace
}  // namespace lanescope::traces
