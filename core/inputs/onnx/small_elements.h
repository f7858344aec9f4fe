// SPDX-License-Identifier: Apache-2.0
// Elements of less than a byte, and floats of a byte or less. Integers of 4 and 2 bits become one byte each;
// floats stay codes, one a byte, whose numbers a table says. Internal to core.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/tensor.h"

namespace lanescope {

// Bits of an element of ONNX's type `number`; 0 for types that a tensor here has as they are.
int SmallElementBits(int number);
// The type that holds an element of a type with SmallElementBits here.
DataType SmallElementType(int number);
// `number` where such elements are codes of floats, else 0.
int OnnxFormat(int number);

// From elements that lie side by side in bytes, the first in the lowest bits. `bytes` has as many as it
// takes.
Tensor UnpackElements(int number, const Shape& shape, std::string_view bytes);
// The number of every code of a format.
std::vector<float> FormatValues(int format);

}  // namespace lanescope
