// SPDX-License-Identifier: Apache-2.0
#include "core/base/nearest_number.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lanescope {
namespace {

// Law: of all numbers that do, none is nearer; of two, divisors take the smaller and multiples the larger.
TEST(NearestNumberTest, NoneIsNearer) {
  for (int64_t whole = 1; whole <= 60; ++whole) {
    for (int64_t part = 1; part <= 70; ++part) {
      int64_t divisor = 1, multiple = part;
      for (int64_t each = 1; each <= 140; ++each) {
        if (whole % each == 0 && std::abs(each - part) < std::abs(divisor - part)) divisor = each;
        if (each % part == 0 && std::abs(each - whole) <= std::abs(multiple - whole)) multiple = each;
      }
      EXPECT_EQ(NearestDivisor(whole, part), divisor) << whole << " " << part;
      EXPECT_EQ(NearestMultiple(whole, part), multiple) << whole << " " << part;
    }
  }
}

}  // namespace
}  // namespace lanescope
