// SPDX-License-Identifier: Apache-2.0
// Binary search in sorted numbers. Evaluated on host and device.
#pragma once

#include <cstdint>

#include "exec/functors/isa.h"

namespace lanescope::exec::cuda {

// The first i in [0, n) with not (sorted[i] < value), or n. Sorted may be anything with operator[].
template <typename Sorted, typename Value>
LANESCOPE_HOST_DEVICE int64_t LowerBound(const Sorted& sorted, int64_t n, Value value) {
  int64_t first = 0;
  while (n > 0) {
    const int64_t half = n / 2;
    if (sorted[first + half] < value) {
      first += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return first;
}

// The first i in [0, n) with value < sorted[i], or n.
template <typename Sorted, typename Value>
LANESCOPE_HOST_DEVICE int64_t UpperBound(const Sorted& sorted, int64_t n, Value value) {
  int64_t first = 0;
  while (n > 0) {
    const int64_t half = n / 2;
    if (!(value < sorted[first + half])) {
      first += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return first;
}

}  // namespace lanescope::exec::cuda
