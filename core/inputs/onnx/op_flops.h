// SPDX-License-Identifier: Apache-2.0
// Operations of ops that stay known by their cost alone. Internal to core.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/op.h"
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {

// Floating-point operations, two for each product and sum, by the op's definition; one an element for ops of
// single elements, none for those that move them. Empty for an op or for sizes that nobody here knows.
std::optional<double> OnnxFlops(const OnnxNode& node, const OnnxValues& inputs,
                                const std::vector<TensorInfo>& outputs);

}  // namespace lanescope
