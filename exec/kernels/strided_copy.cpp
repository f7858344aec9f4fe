// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/strided_copy.h"

#include <algorithm>
#include <type_traits>

#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kGrainElements = 1 << 15;
constexpr int64_t kTransposeTile = 32;
constexpr int64_t kTransposeSubTile = 8;

template <typename T>
void CopyRow(T* destination, int64_t destination_stride, const T* source, int64_t source_stride,
             int64_t count) {
  if (destination_stride == 1 && source_stride == 1) {
    std::copy_n(source, count, destination);
  } else if (destination_stride == 1 && source_stride == 0) {
    std::fill_n(destination, count, *source);
  } else {
    for (int64_t i = 0; i < count; ++i) destination[i * destination_stride] = source[i * source_stride];
  }
}

// destination[c * column_step + r] = source[r * row_step + c] for a full tile; the fixed sizes let the
// compiler keep rows in registers.
template <typename T>
void CopyTile(T* destination, int64_t column_step, const T* source, int64_t row_step) {
  for (int64_t r = 0; r < kTransposeTile; r += kTransposeSubTile) {
    for (int64_t c = 0; c < kTransposeTile; c += kTransposeSubTile) {
      T block[kTransposeSubTile][kTransposeSubTile];
      for (int64_t i = 0; i < kTransposeSubTile; ++i) {
        for (int64_t j = 0; j < kTransposeSubTile; ++j) block[j][i] = source[(r + i) * row_step + c + j];
      }
      for (int64_t j = 0; j < kTransposeSubTile; ++j) {
        for (int64_t i = 0; i < kTransposeSubTile; ++i)
          destination[(c + j) * column_step + r + i] = block[j][i];
      }
    }
  }
}

}  // namespace

void StridedCopy::AddDim(int64_t extent, int64_t destination_stride, int64_t source_stride) {
  if (extent == 0) empty_ = true;
  if (extent == 1) return;
  if (count_ > 0) {
    Dimension& outer = dims_[static_cast<size_t>(count_ - 1)];
    if (outer.destination_stride == extent * destination_stride &&
        outer.source_stride == extent * source_stride) {
      outer = {outer.extent * extent, destination_stride, source_stride};
      return;
    }
  }
  LANESCOPE_CHECK(count_ < kMaxDims);
  dims_[static_cast<size_t>(count_++)] = {extent, destination_stride, source_stride};
}

void StridedCopy::Run(DataType dtype, void* destination, const void* source, WorkerTeam& team) const {
  if (empty()) return;
  DispatchBySize(dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = static_cast<T*>(destination);
    const T* in = static_cast<const T*>(source);
    const int column_dim = TransposedDim();
    if (count_ == 0) {
      *out = *in;
    } else if (column_dim >= 0) {
      RunTransposed(column_dim, out, in, team);
    } else {
      RunRows(out, in, team);
    }
  });
}

int StridedCopy::TransposedDim() const {
  if (count_ < 2 || dims_[static_cast<size_t>(count_ - 1)].source_stride == 1) return -1;
  for (int d = count_ - 2; d >= 0; --d) {
    const Dimension& dim = dims_[static_cast<size_t>(d)];
    if (dim.source_stride == 1 && dim.extent >= 4) return d;
  }
  return -1;
}

// Units of work are pieces of rows; rows are the innermost dimension.
template <typename T>
void StridedCopy::RunRows(T* destination, const T* source, WorkerTeam& team) const {
  const Dimension row = dims_[static_cast<size_t>(count_ - 1)];
  const int outer_dims = count_ - 1;
  int64_t rows = 1;
  for (int d = 0; d < outer_dims; ++d) rows *= dims_[static_cast<size_t>(d)].extent;
  const int64_t pieces = (row.extent + kGrainElements - 1) / kGrainElements;
  const int64_t piece = (row.extent + pieces - 1) / pieces;
  const int64_t grain = std::max<int64_t>(1, kGrainElements / row.extent);
  team.ParallelFor(rows * pieces, grain, [&](int64_t begin, int64_t end) {
    std::array<int64_t, kMaxDims> index{};
    int64_t rest = begin / pieces;
    T* out = destination;
    const T* in = source;
    for (int d = outer_dims - 1; d >= 0; --d) {
      const Dimension& dim = dims_[static_cast<size_t>(d)];
      index[static_cast<size_t>(d)] = rest % dim.extent;
      rest /= dim.extent;
      out += index[static_cast<size_t>(d)] * dim.destination_stride;
      in += index[static_cast<size_t>(d)] * dim.source_stride;
    }
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t first = unit % pieces * piece;
      CopyRow(out + first * row.destination_stride, row.destination_stride, in + first * row.source_stride,
              row.source_stride, std::max<int64_t>(0, std::min(piece, row.extent - first)));
      if (unit % pieces != pieces - 1) continue;
      for (int d = outer_dims - 1; d >= 0; --d) {
        const Dimension& dim = dims_[static_cast<size_t>(d)];
        out += dim.destination_stride;
        in += dim.source_stride;
        if (++index[static_cast<size_t>(d)] < dim.extent) break;
        out -= dim.extent * dim.destination_stride;
        in -= dim.extent * dim.source_stride;
        index[static_cast<size_t>(d)] = 0;
      }
    }
  });
}

// The innermost dimension and `column_dim` in square tiles, so that both sides use whole cache lines. A unit
// of work is a strip of kTransposeTile columns.
template <typename T>
void StridedCopy::RunTransposed(int column_dim, T* destination, const T* source, WorkerTeam& team) const {
  const Dimension row = dims_[static_cast<size_t>(count_ - 1)];
  const Dimension column = dims_[static_cast<size_t>(column_dim)];
  const int64_t strips = (column.extent + kTransposeTile - 1) / kTransposeTile;
  int64_t planes = 1;
  for (int d = 0; d < count_ - 1; ++d) {
    if (d != column_dim) planes *= dims_[static_cast<size_t>(d)].extent;
  }
  const int64_t grain = std::max<int64_t>(1, kGrainElements / (row.extent * kTransposeTile));
  team.ParallelFor(planes * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t rest = unit / strips;
      T* out = destination;
      const T* in = source;
      for (int d = count_ - 2; d >= 0; --d) {
        if (d == column_dim) continue;
        const Dimension& dim = dims_[static_cast<size_t>(d)];
        out += rest % dim.extent * dim.destination_stride;
        in += rest % dim.extent * dim.source_stride;
        rest /= dim.extent;
      }
      const int64_t first = unit % strips * kTransposeTile;
      const int64_t last = std::min(first + kTransposeTile, column.extent);
      for (int64_t tile = 0; tile < row.extent; tile += kTransposeTile) {
        const int64_t tile_end = std::min(tile + kTransposeTile, row.extent);
        if constexpr (std::is_trivially_copyable_v<T>) {
          if (row.destination_stride == 1 && tile_end - tile == kTransposeTile &&
              last - first == kTransposeTile) {
            CopyTile(out + first * column.destination_stride + tile, column.destination_stride,
                     in + first + tile * row.source_stride, row.source_stride);
            continue;
          }
        }
        for (int64_t c = first; c < last; ++c) {
          CopyRow(out + c * column.destination_stride + tile * row.destination_stride, row.destination_stride,
                  in + c + tile * row.source_stride, row.source_stride, tile_end - tile);
        }
      }
    }
  });
}

}  // namespace lanescope::exec
