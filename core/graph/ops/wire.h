// SPDX-License-Identifier: Apache-2.0
// How tensors of 8 bits an element lie in a message: the largest magnitude as a float, then one signed byte
// an element, from -127 for minus that to 127 for plus that.
#pragma once

#include <cstdint>

namespace lanescope::ops {

inline constexpr int64_t kScaleBytes = 4;

}  // namespace lanescope::ops
