// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/small_floats.h"

#include <algorithm>

#include "core/base/small_float.h"

namespace lanescope::exec {

void SmallToFloat(DataType dtype, int64_t n, const void* from, float* to) {
  const auto* values = static_cast<const uint16_t*>(from);
  std::transform(values, values + n, to, dtype == DataType::kHalf ? HalfToFloat : Bfloat16ToFloat);
}

void FloatToSmall(DataType dtype, int64_t n, const float* from, void* to) {
  std::transform(from, from + n, static_cast<uint16_t*>(to),
                 dtype == DataType::kHalf ? FloatToHalf : FloatToBfloat16);
}

}  // namespace lanescope::exec
