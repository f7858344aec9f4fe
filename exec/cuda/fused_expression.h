// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one element as CUDA C. Private to exec/cuda/fused_text.cpp.
#pragma once

#include <span>
#include <string>

#include "core/graph/graph.h"

namespace lanescope::exec::cuda {

std::string_view CTypeOf(DataType dtype);  // "float", "long long"

// The result of an element-wise node; operands are names or expressions.
std::string ElementExpression(const Node& node, DataType result, std::span<const std::string> operands);

// How a reduction is done: the functor that joins two values, and what it starts from.
struct RowFold {
  std::string functor;
  std::string start;
};
RowFold FoldOf(std::string_view op, DataType dtype);

// Where the element `index` of `output` finds its own of `input`, which is broadcast to it.
std::string BroadcastIndex(const Shape& input, const Shape& output, const std::string& index);

}  // namespace lanescope::exec::cuda
