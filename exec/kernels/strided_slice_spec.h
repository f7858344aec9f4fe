// What the begin, end, strides and masks of a StridedSlice say for one input shape.
#pragma once

#include <vector>

#include "exec/kernel.h"

namespace lanescope::exec {

struct StridedSliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
};
StridedSliceMasks ReadStridedSliceMasks(const Node& node);

// Element i of dimension d of the slice is element first[d] + i * step[d] of the input.
struct StridedSliceSpec {
  std::vector<int64_t> first, step, count;
  Shape shape;  // of the result: without shrunk dimensions, with the new ones
};

// Python's slice semantics (TensorFlow's documentation of tf.strided_slice). Throws InvalidArgument for a
// zero stride, an index out of bounds, too many indices or two ellipses.
StridedSliceSpec ResolveStridedSlice(const Shape& input, const std::vector<int64_t>& begin,
                                     const std::vector<int64_t>& end, const std::vector<int64_t>& strides,
                                     const StridedSliceMasks& masks);

}  // namespace lanescope::exec
