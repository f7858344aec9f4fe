// SPDX-License-Identifier: Apache-2.0
// Floats as signed bytes with a scale for all of them.
#pragma once

#include <bit>
#include <cstdint>

namespace lanescope::exec::functors {

// `largest`: magnitude of the largest one. Rounded to the nearest, ties to even.
inline int8_t FloatToScaled(float value, float largest) {
  constexpr float kUnit =
      12582912;  // 1.5 * 2^23: what is added to it is rounded to an integer, its last bits
  if (!(largest > 0)) return 0;
  return static_cast<int8_t>(std::bit_cast<uint32_t>(value / largest * 127.0f + kUnit));
}
inline float ScaledToFloat(int8_t value, float largest) {
  return static_cast<float>(value) / 127.0f * largest;
}

}  // namespace lanescope::exec::functors
