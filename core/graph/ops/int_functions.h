// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of the ops that fold, over values and ranges (see fold.h).
#pragma once

#include "core/graph/ops/fold.h"

namespace lanescope::ops {

using Wide = __int128;

inline constexpr IntUnary AbsInt = {[](Wide a) { return a < 0 ? -a : a; }, false};
inline constexpr IntUnary NegInt = {[](Wide a) { return -a; }, true};
inline constexpr IntUnary SquareInt = {[](Wide a) { return a * a; }, false};
inline constexpr IntUnary NotInt = {[](Wide a) { return Wide(a == 0); }, false};

inline constexpr IntBinary AddInt = {[](Wide a, Wide b, Wide* r) { return *r = a + b, true; }, true};
inline constexpr IntBinary SubInt = {[](Wide a, Wide b, Wide* r) { return *r = a - b, true; }, true};
inline constexpr IntBinary MulInt = {[](Wide a, Wide b, Wide* r) { return *r = a * b, true; }, true};
inline constexpr IntBinary MaxInt = {[](Wide a, Wide b, Wide* r) { return *r = a > b ? a : b, true; }, true};
inline constexpr IntBinary MinInt = {[](Wide a, Wide b, Wide* r) { return *r = a < b ? a : b, true; }, true};
inline constexpr IntBinary LessInt = {[](Wide a, Wide b, Wide* r) { return *r = a < b, true; }, true};
inline constexpr IntBinary LessEqualInt = {[](Wide a, Wide b, Wide* r) { return *r = a <= b, true; }, true};
inline constexpr IntBinary GreaterInt = {[](Wide a, Wide b, Wide* r) { return *r = a > b, true; }, true};
inline constexpr IntBinary GreaterEqualInt = {[](Wide a, Wide b, Wide* r) { return *r = a >= b, true; },
                                              true};
inline constexpr IntBinary EqualInt = {[](Wide a, Wide b, Wide* r) { return *r = a == b, true; }, false};
inline constexpr IntBinary NotEqualInt = {[](Wide a, Wide b, Wide* r) { return *r = a != b, true; }, false};

// Rounds down. An open range stays open; a divisor that may be zero or negative tells nothing about a range,
// since the quotient then jumps between the ends.
inline bool FloorDivide(Wide a, Wide b, Wide* r) {
  if (b == 0) return false;
  if (a >= kInfinity || a < -kInfinity) return *r = b > 0 ? a : -a, true;
  *r = a / b;
  if (a % b != 0 && (a < 0) != (b < 0)) --*r;
  return true;
}
inline constexpr IntBinary FloorDivInt = {FloorDivide, false};
// Floor division by a divisor that is known to be positive.
inline constexpr IntBinary FloorDivPositiveInt = {FloorDivide, true};
inline constexpr IntBinary FloorModInt = {[](Wide a, Wide b, Wide* r) {
                                            if (!FloorDivide(a, b, r)) return false;
                                            return *r = a - *r * b, true;
                                          },
                                          false};
inline constexpr IntBinary TruncateDivInt = {
    [](Wide a, Wide b, Wide* r) { return b != 0 && (*r = a / b, true); }, false};
inline constexpr IntBinary TruncateModInt = {
    [](Wide a, Wide b, Wide* r) { return b != 0 && (*r = a % b, true); }, false};

}  // namespace lanescope::ops
