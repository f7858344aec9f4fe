// SPDX-License-Identifier: Apache-2.0
// Tensors and types of ONNX. Internal to core: brings in generated headers.
#pragma once

#include <string>

#include "core/graph/tensor.h"
#include "lanescope_onnx.pb.h"

namespace lanescope {

// The type of ONNX's number; small elements (small_elements.h) are in bytes. Throws Unimplemented if no
// tensor here can hold.
DataType OnnxDataType(int number);
// `folder`: of the files that hold what is not in `proto`; empty: there are none. Throws InvalidArgument.
Tensor OnnxTensor(const onnx::TensorProto& proto, const std::string& folder);

}  // namespace lanescope
