// SPDX-License-Identifier: Apache-2.0
// Tensors of half and bfloat16 as floats and back, on host memory: how kernels that compute in float take
// them.
#pragma once

#include <cstdint>

#include "exec/device/kernel.h"

namespace lanescope::exec {

inline bool IsSmallFloat(DataType dtype) { return dtype == DataType::kHalf || dtype == DataType::kBfloat16; }

// `n` elements; `dtype` is one of the two.
void SmallToFloat(DataType dtype, int64_t n, const void* from, float* to);
void FloatToSmall(DataType dtype, int64_t n, const float* from, void* to);

}  // namespace lanescope::exec
