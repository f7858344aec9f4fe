// SPDX-License-Identifier: Apache-2.0
// Tensors of half and bfloat16, and the same of float.
#pragma once

#include "core/graph/tensor.h"

namespace lanescope {

bool HasSmallFloats(DataType dtype);
// A float tensor with its elements rounded to such a type.
Tensor NarrowedTensor(const Tensor& tensor, DataType dtype);
// Such a tensor as one of float.
Tensor WidenedTensor(const Tensor& tensor);

}  // namespace lanescope
