// SPDX-License-Identifier: Apache-2.0
// The bytes of strings as numbers.
#pragma once

#include "core/graph/tensor.h"

namespace lanescope::exec {

// One dimension more than `strings`: the numbers of each, which must be equally many. Throws InvalidArgument.
Tensor DecodeRaw(const Tensor& strings, DataType type, bool little_endian);

}  // namespace lanescope::exec
