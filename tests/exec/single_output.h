// SPDX-License-Identifier: Apache-2.0
// Runs of kernels with one output.
#pragma once

#include <utility>
#include <vector>

#include "tests/exec/kernel_harness.h"

namespace lanescope::exec::test {

inline Tensor RunOne(const Node& node, std::vector<Tensor> inputs, const Shape& output,
                     DataType dtype = DataType::kFloat, int workers = 1) {
  return RunKernel(node, std::move(inputs), {{dtype, output}}, workers)[0];
}

// An output whose shape the kernel must find: `room` elements of memory.
inline Tensor RunUnplanned(const Node& node, std::vector<Tensor> inputs, int64_t room = 64,
                           DataType dtype = DataType::kFloat) {
  return RunKernel(node, std::move(inputs), {{dtype, Shape{BoundedDim(room)}}})[0];
}

}  // namespace lanescope::exec::test
