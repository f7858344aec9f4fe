// SPDX-License-Identifier: Apache-2.0
// Shapes of reductions over the rows of each segment, for inference and kernels. Shapes may be open. All
// throw InvalidArgument, in TensorFlow's words, for what does not fit.
#pragma once

#include <span>
#include <string_view>

#include "core/graph/ops/fold.h"

namespace lanescope::ops {

// How many segments or rows a result has, as the scalar input `name` says.
Dim GivenCount(std::string_view name, const Numbers& count);
// Sorted segment numbers: none is negative, or beyond the `limit` segments that there are.
void CheckSorted(std::span<const int64_t> ids, int64_t limit);
// How many segments there are where the last of the sorted numbers says it.
int64_t SegmentsOf(std::span<const int64_t> ids);

// [count] + data[rank of the ids:]
Shape UnsortedSegmentShape(const Shape& data, const Shape& ids, const Numbers& count);
// One row of segments for each of the data.
Shape SegmentShape(const Shape& data, const Shape& ids, Dim segments);
// Rows of the data picked by indices. Of the gradient `rows` are those of the data, and `data` the gradient.
Shape PickedSegmentShape(const Shape& data, const Shape& indices, const Shape& ids, Dim rows);

}  // namespace lanescope::ops
