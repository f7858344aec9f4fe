// SPDX-License-Identifier: Apache-2.0
// Conversion of one element between number types. Out of range, floating point becomes integers as on x86
// (the smallest value of the 32- or 64-bit type that carries it), so that the result is the same everywhere.
#pragma once

#include <cstdint>
#include <type_traits>

#include "exec/functors/isa.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

template <typename To, typename From>
struct Cast {
  LANESCOPE_HOST_DEVICE To operator()(From x) const {
    if constexpr (std::is_same_v<To, bool>) {
      return x != From(0);
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      // Types narrower than 32 bits, and unsigned ones, take the low bits of a wider signed integer.
      using Carrier = std::conditional_t<(sizeof(To) < 4 || std::is_same_v<To, int32_t>), int32_t, int64_t>;
      constexpr From kLimit = sizeof(Carrier) == 4 ? From(2147483648.0) : From(9223372036854775808.0);
      if constexpr (std::is_same_v<To, uint64_t>) {
        if (x >= kLimit && x < kLimit * From(2)) return static_cast<To>(x);
      }
      const bool fits = x < kLimit && x >= -kLimit;
      const Carrier carried = static_cast<Carrier>(fits ? x : -kLimit);
      return static_cast<To>(carried);
    } else {
      return static_cast<To>(x);
    }
  }
};

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
