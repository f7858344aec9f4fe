// What a StridedSlice with its five masks takes from each dimension.
#pragma once

#include <optional>
#include <vector>

#include "core/op.h"

namespace lanescope::ops {

// By dimension of the input: the first element, the step, and how many are taken.
struct StridedSlicePlan {
  std::vector<int64_t> begin, stride;  // valid where `constant`
  Shape sliced;                        // before new axes come in and shrunk ones go
  Shape result;
  bool constant = true;  // every begin, stride and count is exact
};

// For an op whose inputs are (input, begin, end, strides). Empty where the rank of the input or the number of
// slices is unknown. Throws InvalidArgument for an index outside the input or a stride of 0.
std::optional<StridedSlicePlan> PlanStridedSlice(const InferenceContext& context);

}  // namespace lanescope::ops
