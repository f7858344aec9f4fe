// SPDX-License-Identifier: Apache-2.0
// From the operands of a launch on host memory to tensors of their own, and back.
#pragma once

#include "core/graph/tensor.h"
#include "exec/device/kernel.h"

namespace lanescope::exec {

Tensor CopyOf(const TensorRef& ref);
// Gives the output the tensor's shape and elements.
void WriteOutput(KernelContext& context, int output, const Tensor& tensor);

}  // namespace lanescope::exec
