// Tensors and types of ONNX. Internal to core: brings in generated headers.
#pragma once

#include <string>

#include "core/graph/tensor.h"
#include "lanescope_onnx.pb.h"

namespace lanescope {

// Of ONNX's number for it. Throws Unimplemented for what no tensor here can hold.
DataType OnnxDataType(int number);
// `folder`: of the files that hold what is not in `proto`; empty: there are none. Throws InvalidArgument.
Tensor OnnxTensor(const onnx::TensorProto& proto, const std::string& folder);
// The sizes of a type; those that it leaves open are unknown.
Shape OnnxShape(const onnx::TensorType& type);

}  // namespace lanescope
