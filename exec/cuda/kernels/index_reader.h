// SPDX-License-Identifier: Apache-2.0
// Tensors of int32 or int64 indices read alike. Evaluated on host and device.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/divider.h"

namespace lanescope::exec::cuda {

// Value type, passed to kernels as a parameter; does not own the memory.
struct IndexReader {
  const void* data = nullptr;
  int bytes = 4;  // 1 (unsigned), 4 or 8

  LANESCOPE_HOST_DEVICE int64_t operator[](int64_t i) const {
    if (bytes == 8) return static_cast<const int64_t*>(data)[i];
    if (bytes == 4) return static_cast<const int32_t*>(data)[i];
    return static_cast<const uint8_t*>(data)[i];
  }
};

// Rows of a table by number: params [batch, outer, dimension, inner], indices [batch, per_batch], result
// [batch, outer, per_batch, inner].
struct GatherMap {
  int64_t elements = 0;  // of the result
  int64_t dimension = 0;
  Divider inner;
  Divider per_batch;
  Divider outer;

  // The element of params for a result element, or -1 where the index is out of range.
  LANESCOPE_HOST_DEVICE int64_t Source(int64_t element, const IndexReader& indices) const {
    const int64_t column = inner.Split(element);
    const int64_t at = per_batch.Split(element);  // element is the plane now
    const int64_t batch = outer.Quotient(element);
    const int64_t index = indices[batch * per_batch.divisor() + at];
    if (index < 0 || index >= dimension) return -1;
    return (element * dimension + index) * inner.divisor() + column;
  }
};

// Rows of a tensor by coordinates: an index tensor [rows, depth] whose rows point into the first `depth`
// dimensions.
struct CoordinateMap {
  static constexpr int kMaxDepth = 8;

  int depth = 0;
  int64_t extent[kMaxDepth] = {};
  int64_t stride[kMaxDepth] = {};  // in rows

  // The number of the row that coordinates `row` name, or -1 where they are out of range.
  LANESCOPE_HOST_DEVICE int64_t RowOf(int64_t row, const IndexReader& indices) const {
    int64_t target = 0;
    for (int d = 0; d < depth; ++d) {
      const int64_t at = indices[row * depth + d];
      if (at < 0 || at >= extent[d]) return -1;
      target += at * stride[d];
    }
    return target;
  }
};

}  // namespace lanescope::exec::cuda
