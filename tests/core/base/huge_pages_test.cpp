// SPDX-License-Identifier: Apache-2.0
#include "core/base/huge_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lanescope {
namespace {

// Law: a hint. Whatever the range, nothing fails, and what is there stays.
TEST(HugePagesTest, ChangeNothingThatIsWritten) {
  PreferHugePages(nullptr, 0);
  std::vector<char> table(size_t{5} << 20, 'x');
  for (const size_t begin : {size_t{0}, size_t{1}, size_t{4096}}) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100'000}, table.size() - begin})
      PreferHugePages(table.data() + begin, bytes);
  }
  EXPECT_EQ(std::ranges::count(table, 'x'), static_cast<ptrdiff_t>(table.size()));
}

}  // namespace
}  // namespace lanescope
