// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/row_access.h"

#include <fmt/format.h>

#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {

void CheckIndices(std::string_view name, const TensorRef& indices, int64_t limit) {
  DispatchIndex(name, indices.dtype, [&](auto tag) {
    using Index = decltype(tag);
    const Index* values = indices.as<Index>();
    const int64_t count = indices.NumElements();
    // Unsigned: a negative index is a huge one. The loop has no exit, so that it runs on vectors.
    bool bad = false;
    for (int64_t i = 0; i < count; ++i) {
      bad |= static_cast<uint64_t>(values[i]) >= static_cast<uint64_t>(limit);
    }
    if (!bad) return;
    for (int64_t i = 0; i < count; ++i) {
      if (values[i] < 0 || values[i] >= limit) {
        Throw(Code::kInvalidArgument, "{}[{}] = {} is not in [0, {})", name, Coordinates(indices.shape, i),
              values[i], limit);
      }
    }
  });
}

std::vector<int64_t> RowOffsets(std::string_view name, const CoordinateRows& rows, const TensorRef& indices,
                                const Shape& shape, std::string_view what) {
  const auto strides = StridesOf(shape);
  std::vector<int64_t> offsets(static_cast<size_t>(rows.rows));
  DispatchIndex(name, indices.dtype, [&](auto tag) {
    using Index = decltype(tag);
    for (int64_t i = 0; i < rows.rows; ++i) {
      const Index* coordinates = indices.as<Index>() + i * rows.depth;
      int64_t offset = 0;
      for (int d = 0; d < rows.depth; ++d) {
        if (coordinates[d] < 0 || coordinates[d] >= shape[d]) {
          Throw(Code::kInvalidArgument, "{}[{}] = [{}] does not index into {} {}", name,
                Coordinates(rows.outer, i), fmt::join(coordinates, coordinates + rows.depth, ", "), what,
                shape.ToString());
        }
        offset += coordinates[d] * strides[static_cast<size_t>(d)];
      }
      offsets[static_cast<size_t>(i)] = offset;
    }
  });
  return offsets;
}

}  // namespace lanescope::exec
