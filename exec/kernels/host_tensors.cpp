// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/host_tensors.h"

#include <algorithm>
#include <cstring>

#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {

Tensor CopyOf(const TensorRef& ref) {
  Tensor tensor(ref.dtype, ref.shape);
  if (ref.dtype == DataType::kString) {
    std::copy_n(ref.as<std::string>(), ref.NumElements(), tensor.data<std::string>());
  } else if (tensor.ByteSize() > 0) {
    std::memcpy(tensor.raw_data(), ref.data, static_cast<size_t>(tensor.ByteSize()));
  }
  return tensor;
}

void WriteOutput(KernelContext& context, int i, const Tensor& tensor) {
  ShapeOutput(context, i, tensor.shape());
  TensorRef& output = context.output(i);
  if (output.dtype == DataType::kString) {
    std::copy_n(tensor.data<std::string>(), tensor.NumElements(), output.as<std::string>());
  } else if (tensor.ByteSize() > 0) {
    std::memcpy(output.data, tensor.raw_data(), static_cast<size_t>(tensor.ByteSize()));
  }
}

}  // namespace lanescope::exec
