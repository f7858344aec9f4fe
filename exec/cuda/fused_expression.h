// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one element as CUDA C. Private to exec/cuda/fused_text.cpp.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/graph/graph.h"

namespace lanescope::exec::cuda {

std::string_view CTypeOf(DataType dtype);  // "float", "long long"

// The expression of an element-wise node, of operands that are names or expressions.
std::string ElementExpression(const Node& node, DataType result, std::span<const std::string> operands);

// How a reduction is done: the functor that joins two values, and what it starts from.
struct RowFold {
  std::string functor;
  std::string start;
};
RowFold FoldOf(std::string_view op, DataType dtype);

// The place in `size` elements of `inner` each of what `index` counts: index / inner % size. `outermost`: it
// is less than inner * size.
std::string BroadcastTerm(const std::string& index, int64_t inner, int64_t size, bool outermost);
using TermOf = std::function<std::string(int64_t inner, int64_t size, bool outermost)>;

// Where the element `index` of `output` finds its own of `input`, which is broadcast to it. `term`: the text
// of BroadcastTerm, if the kernel knows the place by another name.
std::string BroadcastIndex(const Shape& input, const Shape& output, const std::string& index,
                           const TermOf& term = nullptr);

}  // namespace lanescope::exec::cuda
