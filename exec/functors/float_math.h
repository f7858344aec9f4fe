// SPDX-License-Identifier: Apache-2.0
// Exponential, logarithm and their kin for float, written so that a compiler vectorises the loop around them:
// no branches, no tables, no calls. Accurate to about two units in the last place over the whole range; NaN,
// infinities and signed zeros come out as from the C library. Polynomials were fitted by weighted least
// squares (minimal largest relative error).
#pragma once

#include <math.h>

#include <cstdint>

#include "exec/functors/isa.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

LANESCOPE_HOST_DEVICE inline float FloatOf(int32_t bits) { return __builtin_bit_cast(float, bits); }
LANESCOPE_HOST_DEVICE inline int32_t BitsOf(float x) { return __builtin_bit_cast(int32_t, x); }

// x = n * ln 2 + r with |r| <= ln 2 / 2.
struct ExpParts {
  int32_t n;
  float expm1_r;
};
// x in [-104, 89] or NaN. Adding 1.5 * 2^23 leaves the rounded quotient in the low bits of the mantissa.
LANESCOPE_HOST_DEVICE inline ExpParts SplitExp(float x) {
  constexpr float kMagic = 12582912.0f;
  const float shifted = x * 1.44269504f + kMagic;
  const float n = shifted - kMagic;
  const float r = (x - n * 0.693145752f) - n * 1.42860677e-06f;
  float p = 0.000198458802f;
  p = p * r + 0.00139406684f;
  p = p * r + 0.00833338965f;
  p = p * r + 0.0416663587f;
  p = p * r + 0.166666657f;
  p = p * r + 0.5f;
  return {BitsOf(shifted) - BitsOf(kMagic), p * r * r + r};
}

LANESCOPE_HOST_DEVICE inline float Pow2(int32_t n) {  // n in [-126, 127]
  return FloatOf(static_cast<int32_t>(static_cast<uint32_t>(n + 127) << 23));
}

// Scales in two steps, so that results below 2^-126 round once and above 2^128 become infinite.
LANESCOPE_HOST_DEVICE inline float ExpFloat(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  const ExpParts parts = SplitExp(x);
  const int32_t half = parts.n >> 1;
  return (1.0f + parts.expm1_r) * Pow2(half) * Pow2(parts.n - half);
}

LANESCOPE_HOST_DEVICE inline float Expm1Float(float x) {
  float bounded = x > 89.0f ? 89.0f : x;
  bounded = bounded < -104.0f ? -104.0f : bounded;
  const ExpParts parts = SplitExp(bounded);
  const int32_t half = parts.n >> 1;
  const float low = Pow2(half);
  const float high = Pow2(parts.n - half);
  // (2^n - 1) is exact where it matters; beyond 2^24 the 1 is lost anyway.
  const float y = (parts.expm1_r * low) * high + (low * high - 1.0f);
  const float large = (1.0f + parts.expm1_r) * low * high;
  const float result = bounded > 64.0f ? large : y;
  return x == 0.0f ? x : result;  // keeps the sign of zero
}

LANESCOPE_HOST_DEVICE inline float LogFloat(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  // Unsigned: the bits of negative numbers, whose result is replaced below, would overflow.
  const auto bits = static_cast<uint32_t>(BitsOf(scaled));
  const int32_t exponent = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;  // 0x3f3504f3: sqrt(1/2)
  const float f = FloatOf(static_cast<int32_t>(bits - (static_cast<uint32_t>(exponent) << 23))) - 1.0f;
  const float e = static_cast<float>(exponent - (tiny ? 23 : 0));
  float p = 0.0674880892f;
  p = p * f - 0.116793774f;
  p = p * f + 0.118892357f;
  p = p * f - 0.124050915f;
  p = p * f + 0.142193526f;
  p = p * f - 0.166680142f;
  p = p * f + 0.200021282f;
  p = p * f - 0.250000089f;
  p = p * f + 0.333333135f;
  const float square = f * f;
  const float tail = square * f * p - 0.5f * square + e * 1.42860677e-06f;
  const float y = (f + tail) + e * 0.693145752f;
  const float special = x == 0.0f ? -INFINITY : (x < 0.0f ? NAN : x);  // also +inf and NaN
  const bool ordinary = x > 0.0f && x < INFINITY;
  return ordinary ? y : special;
}

// log(1 + x): the rounding error of 1 + x is added back to first order.
LANESCOPE_HOST_DEVICE inline float Log1pFloat(float x) {
  const float u = 1.0f + x;
  const float lost = x - (u - 1.0f);
  const float y = LogFloat(u) + lost / u;
  const bool exact = u == 1.0f || !(x > -1.0f && x < INFINITY);
  const float special = u == 1.0f ? x : LogFloat(u);
  return exact ? special : y;
}

LANESCOPE_HOST_DEVICE inline float TanhFloat(float x) {
  const float a = __builtin_fabsf(x);
  const float z = a * a;
  float p = -0.00570422783f;
  p = p * z + 0.0206384361f;
  p = p * z - 0.0537395254f;
  p = p * z + 0.133314401f;
  p = p * z - 0.333332807f;
  const float small = a + a * z * p;
  const float bounded = a > 10.0f ? 10.0f : a;
  const float large = 1.0f - 2.0f / (ExpFloat(2.0f * bounded) + 1.0f);
  return __builtin_copysignf(a < 0.625f ? small : large, x);
}

LANESCOPE_HOST_DEVICE inline float ErfFloat(float x) {
  const float a = __builtin_fabsf(x);
  const float z = a * a;
  float p = 7.84729564e-05f;
  p = p * z - 0.000800837064f;
  p = p * z + 0.00518813916f;
  p = p * z - 0.0268537235f;
  p = p * z + 0.112835832f;
  p = p * z - 0.37612626f;
  p = p * z + 1.12837911f;
  const float b = a > 4.1f ? 4.1f : a;
  float q = -2.16867975e-05f;  // logarithm of 1 - erf on [1, 4.1]
  q = q * b + 0.000441335753f;
  q = q * b - 0.00420455867f;
  q = q * b + 0.0252082478f;
  q = q * b - 0.108418562f;
  q = q * b - 0.633219898f;
  q = q * b - 1.12957847f;
  q = q * b + 0.000188038466f;
  const float large = 1.0f - ExpFloat(q);
  return __builtin_copysignf(a < 1.0f ? a * p : large, x);
}

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
