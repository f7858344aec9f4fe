#include "exec/kernels/row_access.h"

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

RowIndex ResolveRowIndex(std::string_view name, const TensorRef& indices, const Shape& shape,
                         std::string_view what) {
  const int index_rank = indices.shape.rank();
  if (index_rank < 1) Throw(Code::kInvalidArgument, "{} must be at least a vector", name);
  const int64_t depth = indices.shape[index_rank - 1];
  if (depth > shape.rank()) {
    Throw(Code::kInvalidArgument, "index innermost dimension length must be <= params rank; saw: {} vs. {}",
          depth, shape.rank());
  }
  RowIndex rows;
  rows.row_size = SizeOfDims(shape, static_cast<int>(depth), shape.rank());
  Shape outer;
  for (int d = 0; d + 1 < index_rank; ++d) outer.Append(indices.shape[d]);
  rows.result_shape = outer;
  for (int d = static_cast<int>(depth); d < shape.rank(); ++d) rows.result_shape.Append(shape[d]);
  const auto strides = StridesOf(shape);
  const int64_t count = outer.NumElements();
  rows.offsets.resize(static_cast<size_t>(count));
  DispatchIndex(name, indices.dtype, [&](auto tag) {
    using Index = decltype(tag);
    for (int64_t i = 0; i < count; ++i) {
      const Index* coordinates = indices.as<Index>() + i * depth;
      int64_t offset = 0;
      for (int d = 0; d < depth; ++d) {
        if (coordinates[d] < 0 || coordinates[d] >= shape[d]) {
          Throw(Code::kInvalidArgument, "{}[{}] = [{}] does not index into {} {}", name,
                Coordinates(outer, i), fmt::join(coordinates, coordinates + depth, ", "), what,
                shape.ToString());
        }
        offset += coordinates[d] * strides[static_cast<size_t>(d)];
      }
      rows.offsets[static_cast<size_t>(i)] = offset;
    }
  });
  return rows;
}

}  // namespace lanescope::exec
