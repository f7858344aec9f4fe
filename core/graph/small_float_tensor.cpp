// SPDX-License-Identifier: Apache-2.0
#include "core/graph/small_float_tensor.h"

#include <algorithm>

#include "core/base/small_float.h"

namespace lanescope {

bool HasSmallFloats(DataType dtype) { return dtype == DataType::kHalf || dtype == DataType::kBfloat16; }

Tensor NarrowedTensor(const Tensor& tensor, DataType dtype) {
  Tensor narrow(dtype, tensor.shape());
  std::transform(tensor.data<float>(), tensor.data<float>() + tensor.NumElements(),
                 static_cast<uint16_t*>(narrow.raw_data()),
                 dtype == DataType::kHalf ? FloatToHalf : FloatToBfloat16);
  return narrow;
}

Tensor WidenedTensor(const Tensor& tensor) {
  Tensor wide(DataType::kFloat, tensor.shape());
  const auto* const narrow = static_cast<const uint16_t*>(tensor.raw_data());
  std::transform(narrow, narrow + tensor.NumElements(), wide.data<float>(),
                 tensor.dtype() == DataType::kHalf ? HalfToFloat : Bfloat16ToFloat);
  return wide;
}

}  // namespace lanescope
