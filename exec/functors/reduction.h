// SPDX-License-Identifier: Apache-2.0
// Reductions: the identity, how an element joins a total, how two totals join. The single source of host
// loops and device kernels.
#pragma once

#include "exec/functors/binary.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

// Minus infinity, or the smallest integer.
template <typename T>
LANESCOPE_HOST_DEVICE constexpr T LowestOf() {
  if constexpr (std::is_floating_point_v<T>) {
    return -T(INFINITY);
  } else if constexpr (std::is_unsigned_v<T>) {
    return T(0);
  } else {
    return static_cast<T>(Wrapping<T>(1) << (sizeof(T) * 8 - 1));
  }
}

struct ReduceSum {
  template <typename T>
  LANESCOPE_HOST_DEVICE static T Identity() {
    return T(0);
  }
  template <typename T>
  LANESCOPE_HOST_DEVICE T Take(T total, T x) const {
    return Add()(total, x);
  }
  template <typename T>
  LANESCOPE_HOST_DEVICE T Join(T a, T b) const {
    return Add()(a, b);
  }
};
struct ReduceSumSquares : ReduceSum {
  template <typename T>
  LANESCOPE_HOST_DEVICE T Take(T total, T x) const {
    return Add()(total, Mul()(x, x));
  }
};
struct ReduceProd {
  template <typename T>
  LANESCOPE_HOST_DEVICE static T Identity() {
    return T(1);
  }
  template <typename T>
  LANESCOPE_HOST_DEVICE T Take(T total, T x) const {
    return Mul()(total, x);
  }
  template <typename T>
  LANESCOPE_HOST_DEVICE T Join(T a, T b) const {
    return Mul()(a, b);
  }
};
struct ReduceMax {
  template <typename T>
  LANESCOPE_HOST_DEVICE static T Identity() {
    return LowestOf<T>();
  }
  template <typename T>
  LANESCOPE_HOST_DEVICE T Take(T total, T x) const {
    return Maximum()(total, x);
  }
  template <typename T>
  LANESCOPE_HOST_DEVICE T Join(T a, T b) const {
    return Maximum()(a, b);
  }
};
struct ReduceMin {
  template <typename T>
  LANESCOPE_HOST_DEVICE static T Identity() {
    if constexpr (std::is_floating_point_v<T>) {
      return T(INFINITY);
    } else {
      return static_cast<T>(~LowestOf<T>());
    }
  }
  template <typename T>
  LANESCOPE_HOST_DEVICE T Take(T total, T x) const {
    return Minimum()(total, x);
  }
  template <typename T>
  LANESCOPE_HOST_DEVICE T Join(T a, T b) const {
    return Minimum()(a, b);
  }
};

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
