// SPDX-License-Identifier: Apache-2.0
// The elements of each dimension that a StridedSlice with its five masks takes, for inference and kernels.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/op.h"
#include "core/graph/ops/fold.h"

namespace lanescope::ops {

struct StridedSliceMasks {
  explicit StridedSliceMasks(const Node& node);
  int64_t begin, end, ellipsis, new_axis, shrink;
};

// The three inputs that say where a slice begins and ends and how it steps.
struct StridedSliceNumbers {
  Numbers begin, end, strides;
};

// By dimension of the input: the first element, the step, and how many are taken.
struct StridedSlicePlan {
  std::vector<int64_t> begin, stride;  // valid where `constant`
  Shape sliced;                        // before new axes come in and shrunk ones go
  Shape result;
  bool constant = true;  // every begin, stride and count is exact
};

// Empty where the rank of the input or the number of slices is unknown. Throws InvalidArgument, in
// TensorFlow's words, for an index outside the input, a stride that is 0 or goes back where one element is
// taken, too many slices or two ellipses.
std::optional<StridedSlicePlan> PlanStridedSlice(const Shape& shape, const StridedSliceMasks& masks,
                                                 const StridedSliceNumbers& numbers);
// The gradient of a slice of `shape`: of the slice's shape.
std::optional<StridedSlicePlan> PlanStridedSliceGrad(const Shape& shape, const StridedSliceMasks& masks,
                                                     const StridedSliceNumbers& numbers,
                                                     const Shape& gradient);

}  // namespace lanescope::ops
