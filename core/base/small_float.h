// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers of 16 bits, as they lie in memory: half (IEEE) and bfloat16. Arithmetic is done in
// float; what is rounded is rounded to the nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace lanescope {

inline float HalfToFloat(uint16_t half) {
  constexpr uint32_t kExponent = uint32_t{0x7c00} << 13;
  uint32_t bits = uint32_t{half & 0x7fffu} << 13;
  const uint32_t exponent = bits & kExponent;
  bits += uint32_t{127 - 15} << 23;
  if (exponent == kExponent) {  // infinite, or no number
    bits += uint32_t{128 - 16} << 23;
  } else if (exponent == 0) {  // below the smallest normal number
    bits += uint32_t{1} << 23;
    bits = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) - std::bit_cast<float>(uint32_t{113} << 23));
  }
  return std::bit_cast<float>(bits | uint32_t{half & 0x8000u} << 16);
}

inline uint16_t FloatToHalf(float value) {
  constexpr uint32_t kInfinity = uint32_t{255} << 23, kTooLarge = uint32_t{127 + 16} << 23;
  constexpr uint32_t kSmallestNormal = uint32_t{113} << 23, kAlign = uint32_t{126} << 23;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits & 0x80000000u;
  bits ^= sign;
  uint32_t half = 0;
  if (bits >= kTooLarge) {
    half = bits > kInfinity ? 0x7e00u : 0x7c00u;
  } else if (bits < kSmallestNormal) {  // the addition shifts and rounds
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + std::bit_cast<float>(kAlign)) - kAlign;
  } else {
    const uint32_t odd = bits >> 13 & 1;
    half = (bits - (uint32_t{127 - 15} << 23) + 0xfff + odd) >> 13;
  }
  return static_cast<uint16_t>(half | sign >> 16);
}

inline float Bfloat16ToFloat(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

inline uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16 & 0x8000u) | 0x7fc0u);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Without rounding: the upper half of the number, but for what is no number, which stays none.
inline uint16_t TruncateToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return FloatToBfloat16(value);
  return static_cast<uint16_t>(bits >> 16);
}

}  // namespace lanescope
