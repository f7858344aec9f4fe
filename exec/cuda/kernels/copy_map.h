// SPDX-License-Identifier: Apache-2.0
// A copy between two strided views of the same extents, element by element in the order of the destination:
// what is behind slices, transposes, tiles, broadcasts and pads. Built on the host, evaluated on host and
// device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/graph/shape.h"
#include "exec/cuda/kernels/divider.h"

namespace lanescope::exec::cuda {

// Value type, passed to kernels as a parameter. Strides are in elements; a source stride may be zero or
// negative. Dimension 0 is the outermost while dimensions are added.
struct CopyMap {
  static constexpr int kMaxDims = 2 * Shape::kMaxRank;

  int64_t elements = 1;
  int dims = 0;
  int64_t extent[kMaxDims] = {};
  int64_t to[kMaxDims] = {};
  int64_t from[kMaxDims] = {};
  Divider size[kMaxDims];

  // Outermost first; neighbours that form one dimension in both views are merged.
  void AddDim(int64_t count, int64_t to_stride, int64_t from_stride) {
    elements *= count;
    if (count == 1) return;
    if (dims > 0 && to[dims - 1] == count * to_stride && from[dims - 1] == count * from_stride) {
      extent[dims - 1] *= count;
      to[dims - 1] = to_stride;
      from[dims - 1] = from_stride;
    } else {
      extent[dims] = count;
      to[dims] = to_stride;
      from[dims] = from_stride;
      ++dims;
    }
    for (int dim = 0; dim < dims; ++dim) size[dim] = Divider(extent[dim]);
  }

  // Elements that may be moved as one: the largest power of two up to `limit` that divides the innermost run
  // and every stride, 1 where neighbours are not adjacent on both sides.
  int64_t Widest(int64_t limit) const {
    if (dims == 0 || to[dims - 1] != 1 || from[dims - 1] != 1) return 1;
    int64_t width = limit;
    for (; width > 1; width /= 2) {
      bool fits = extent[dims - 1] % width == 0;
      for (int dim = 0; fits && dim + 1 < dims; ++dim) fits = to[dim] % width == 0 && from[dim] % width == 0;
      if (fits) break;
    }
    return std::max<int64_t>(1, width);
  }

  // This copy of elements `width` times as long; width is at most Widest().
  CopyMap Widened(int64_t width) const {
    CopyMap wide = *this;
    if (width == 1) return wide;
    wide.elements /= width;
    wide.extent[dims - 1] /= width;
    for (int dim = 0; dim + 1 < dims; ++dim) {
      wide.to[dim] /= width;
      wide.from[dim] /= width;
    }
    for (int dim = 0; dim < dims; ++dim) wide.size[dim] = Divider(wide.extent[dim]);
    return wide;
  }

  LANESCOPE_HOST_DEVICE void Offsets(int64_t element, int64_t& to_offset, int64_t& from_offset) const {
    to_offset = 0;
    from_offset = 0;
    for (int dim = dims - 1; dim >= 0; --dim) {
      const int64_t at = dim > 0 ? size[dim].Split(element) : element;
      to_offset += at * to[dim];
      from_offset += at * from[dim];
    }
  }

  // The dimension whose source elements are adjacent while the last one's are not (a transpose's), or -1.
  int TransposedDim() const {
    if (dims < 2 || to[dims - 1] != 1 || from[dims - 1] == 1 || from[dims - 1] == 0) return -1;
    for (int dim = 0; dim + 1 < dims; ++dim) {
      if (from[dim] == 1) return dim;
    }
    return -1;
  }
};

// A transposing copy in square tiles, so that both sides are read and written along their own rows: rows lie
// along the dimension in which the source is dense, columns along the one in which the destination is.
struct TileMap {
  static constexpr int64_t kTile = 32;

  CopyMap outer;  // all other dimensions
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_to = 0;       // destination elements from one row to the next
  int64_t column_from = 0;  // source elements from one column to the next
  Divider row_tiles;
  Divider column_tiles;

  int64_t tiles() const { return outer.elements * row_tiles.divisor() * column_tiles.divisor(); }

  struct Tile {
    int64_t to, from;  // of the first element of the whole plane
    int64_t row, column;
  };
  LANESCOPE_HOST_DEVICE Tile TileAt(int64_t index) const {
    Tile tile{};
    tile.column = column_tiles.Split(index) * kTile;
    tile.row = row_tiles.Split(index) * kTile;
    outer.Offsets(index, tile.to, tile.from);
    return tile;
  }
};

// `row_dim` is copy.TransposedDim().
inline TileMap MakeTileMap(const CopyMap& copy, int row_dim) {
  TileMap map;
  const int last = copy.dims - 1;
  for (int dim = 0; dim < last; ++dim) {
    if (dim != row_dim) map.outer.AddDim(copy.extent[dim], copy.to[dim], copy.from[dim]);
  }
  map.rows = copy.extent[row_dim];
  map.columns = copy.extent[last];
  map.row_to = copy.to[row_dim];
  map.column_from = copy.from[last];
  map.row_tiles = Divider((map.rows + TileMap::kTile - 1) / TileMap::kTile);
  map.column_tiles = Divider((map.columns + TileMap::kTile - 1) / TileMap::kTile);
  return map;
}

}  // namespace lanescope::exec::cuda
