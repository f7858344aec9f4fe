// SPDX-License-Identifier: Apache-2.0
// Single numbers from a Philox stream, word by word.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "exec/functors/philox.h"

namespace lanescope::exec {

inline double NextUnitDouble(PhiloxWords& words) {
  const uint32_t high = words.Next();
  return UnitDouble(high, words.Next());
}

inline uint64_t NextNumber(PhiloxWords& words) {
  const uint64_t low = words.Next();
  return uint64_t{words.Next()} << 32 | low;
}

// Each of [0, n) as likely as the others; n > 0. Numbers of 32 bits take one word, others two.
template <typename T>
T NextBelow(PhiloxWords& words, T n) {
  static_assert(std::is_same_v<T, uint32_t> || std::is_same_v<T, uint64_t>);
  const auto next = [&] {
    if constexpr (sizeof(T) == 4) return words.Next();
    return static_cast<T>(NextNumber(words));
  };
  if ((n & (n - 1)) == 0) return next() & (n - 1);
  const T rest = std::numeric_limits<T>::max() % n + 1;
  while (true) {
    const T number = next();
    if (number >= rest) return number % n;
  }
}

}  // namespace lanescope::exec
