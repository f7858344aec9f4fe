// What a StridedSlice with its five masks takes from each dimension, for inference and for kernels.
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

// The numbers of a slice, each empty where nothing is known of them.
struct StridedSliceNumbers {
  int64_t count = 0;
  std::optional<Elements> begin, end, stride;
};

// By dimension of the input: the first element, the step, and how many are taken.
struct StridedSlicePlan {
  std::vector<int64_t> begin, stride;  // valid where `constant`
  Shape sliced;                        // before new axes come in and shrunk ones go
  Shape result;
  bool constant = true;  // every begin, stride and count is exact
};

// Of an input of known rank. Throws InvalidArgument, in TensorFlow's words, for an index outside the input, a
// stride that is 0 or goes back where one element is taken, too many slices or two ellipses.
StridedSlicePlan PlanStridedSlice(const Shape& shape, const StridedSliceMasks& masks,
                                  const StridedSliceNumbers& numbers);
// For an op whose inputs are (input, begin, end, strides). Empty where the rank of the input or the number of
// slices is unknown.
std::optional<StridedSlicePlan> PlanStridedSlice(const InferenceContext& context);

}  // namespace lanescope::ops
