// SPDX-License-Identifier: Apache-2.0
// Division of indices by a number that is fixed for a whole launch: a multiplication where everything fits in
// 31 bits, a real division elsewhere. Runs on host and device.
#pragma once

#include <cstdint>

#include "exec/functors/isa.h"

namespace lanescope::exec::cuda {

// Value type. Dividends are >= 0. A divisor below 1 counts as 1: nothing of an empty dimension is ever
// visited.
class Divider {
 public:
  Divider() = default;
  explicit Divider(int64_t divisor) : divisor_(divisor < 1 ? 1 : divisor) {
    if (divisor_ > kLargest31) return;
    while ((int64_t{1} << shift_) < divisor_) ++shift_;
    const auto d = static_cast<uint64_t>(divisor_);
    multiplier_ = static_cast<uint32_t>((uint64_t{1} << 32) * ((uint64_t{1} << shift_) - d) / d + 1);
  }

  LANESCOPE_HOST_DEVICE int64_t divisor() const { return divisor_; }

  // Granlund and Montgomery 1994, "Division by invariant integers using multiplication", for 31-bit
  // dividends.
  LANESCOPE_HOST_DEVICE int64_t Quotient(int64_t n) const {
    if (n > kLargest31 || divisor_ > kLargest31) return n / divisor_;
    const auto small = static_cast<uint32_t>(n);
    const auto high = static_cast<uint32_t>((uint64_t{small} * multiplier_) >> 32);
    return (high + small) >> shift_;
  }

  // Leaves the quotient in n and returns the remainder.
  LANESCOPE_HOST_DEVICE int64_t Split(int64_t& n) const {
    const int64_t quotient = Quotient(n);
    const int64_t rest = n - quotient * divisor_;
    n = quotient;
    return rest;
  }

 private:
  static constexpr int64_t kLargest31 = 0x7FFFFFFF;

  int64_t divisor_ = 1;
  uint32_t multiplier_ = 1;
  uint32_t shift_ = 0;
};

}  // namespace lanescope::exec::cuda
