// SPDX-License-Identifier: Apache-2.0
// Windows over images [batch, rows, columns, channels]: which cells a window sees, which windows see a cell,
// and which element of an image a patch element is. Evaluated on host and device.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/divider.h"

namespace lanescope::exec::cuda {

// Half-open range.
struct CellRange {
  int64_t first;
  int64_t last;
};

// One spatial dimension: `out` windows of `size` taps, `dilation` cells apart, one every `stride` cells of
// `in` stored cells, the first one `before` cells ahead of the image. With spread > 1 the image is seen with
// spread - 1 zeros between its cells.
struct WindowAxis {
  int64_t in = 0;
  int64_t out = 0;
  int64_t size = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  int64_t spread = 1;

  // The axis of the convolution that is the gradient by the images: over the outputs, with gaps for the
  // strides.
  WindowAxis Turned() const {
    WindowAxis turned;
    turned.in = out;
    turned.out = in;
    turned.size = size;
    turned.dilation = dilation;
    turned.before = (size - 1) * dilation - before;
    turned.spread = stride;
    return turned;
  }
  // The cell under tap `tap` of window `window`, or -1 where there is padding or a gap.
  LANESCOPE_HOST_DEVICE int64_t Cell(int64_t window, int64_t tap) const {
    const int64_t seen = window * stride + tap * dilation - before;
    if (spread == 1) return seen >= 0 && seen < in ? seen : -1;
    if (seen < 0 || seen % spread != 0) return -1;
    return seen / spread < in ? seen / spread : -1;
  }

  // Without dilation or spread: the cells that window `window` sees.
  LANESCOPE_HOST_DEVICE CellRange CellsOf(int64_t window) const {
    const int64_t start = window * stride - before;
    const int64_t end = start + size;
    return {start > 0 ? start : 0, end < in ? end : in};
  }

  // Without dilation or spread: the windows that see cell `cell`. `quotient(n)`: n / stride.
  template <typename Quotient>
  LANESCOPE_HOST_DEVICE CellRange WindowsOf(int64_t cell, const Quotient& quotient) const {
    const int64_t place = cell + before;
    const int64_t first = place < size ? 0 : quotient(place - size) + 1;
    const int64_t last = quotient(place) + 1;
    return {first, last < out ? last : out};
  }
  LANESCOPE_HOST_DEVICE CellRange WindowsOf(int64_t cell) const {
    const int64_t by = stride;
    return WindowsOf(cell, [by](int64_t n) { return n / by; });
  }
};

// Pooling: all that a thread needs to find its window or its cell.
struct PoolMap {
  int64_t batch = 0;
  WindowAxis rows;
  WindowAxis columns;
  Divider channels;
  Divider out_columns;
  Divider out_rows;
  Divider in_columns;
  Divider in_rows;
  Divider row_stride;
  Divider column_stride;

  struct Place {
    int64_t image, row, column, channel;
  };

  LANESCOPE_HOST_DEVICE int64_t outputs() const {
    return batch * rows.out * columns.out * channels.divisor();
  }
  LANESCOPE_HOST_DEVICE int64_t inputs() const { return batch * rows.in * columns.in * channels.divisor(); }
  LANESCOPE_HOST_DEVICE Place OutputPlace(int64_t element) const {
    Place place{};
    place.channel = channels.Split(element);
    place.column = out_columns.Split(element);
    place.row = out_rows.Split(element);
    place.image = element;
    return place;
  }
  LANESCOPE_HOST_DEVICE Place InputPlace(int64_t element) const {
    Place place{};
    place.channel = channels.Split(element);
    place.column = in_columns.Split(element);
    place.row = in_rows.Split(element);
    place.image = element;
    return place;
  }
  // The windows that see a row or a column of cells.
  LANESCOPE_HOST_DEVICE CellRange RowsOver(int64_t row) const {
    const Divider& by = row_stride;
    return rows.WindowsOf(row, [&by](int64_t n) { return by.Quotient(n); });
  }
  LANESCOPE_HOST_DEVICE CellRange ColumnsOver(int64_t column) const {
    const Divider& by = column_stride;
    return columns.WindowsOf(column, [&by](int64_t n) { return by.Quotient(n); });
  }
  LANESCOPE_HOST_DEVICE int64_t InputOffset(int64_t image, int64_t row, int64_t column,
                                            int64_t channel) const {
    return ((image * rows.in + row) * columns.in + column) * channels.divisor() + channel;
  }
  LANESCOPE_HOST_DEVICE int64_t OutputOffset(int64_t image, int64_t row, int64_t column,
                                             int64_t channel) const {
    return ((image * rows.out + row) * columns.out + column) * channels.divisor() + channel;
  }
};

inline PoolMap MakePoolMap(int64_t batch, const WindowAxis& rows, const WindowAxis& columns,
                           int64_t channels) {
  PoolMap map;
  map.batch = batch;
  map.rows = rows;
  map.columns = columns;
  map.channels = Divider(channels);
  map.out_columns = Divider(columns.out);
  map.out_rows = Divider(rows.out);
  map.in_columns = Divider(columns.in);
  map.in_rows = Divider(rows.in);
  map.row_stride = Divider(rows.stride);
  map.column_stride = Divider(columns.stride);
  return map;
}

// Patches of a convolution as the rows of a matrix: row p is the position (image, row, column) of the output,
// column t the tap (row, column, channel) of the filter. `width` channels are moved as one element.
struct PatchMap {
  WindowAxis rows;
  WindowAxis columns;
  Divider channels;  // in units of `width`
  Divider filter_columns;
  Divider patch;  // elements of a patch, in units of `width`
  Divider out_columns;
  Divider out_rows;

  // The offset of patch element `element` (of the whole matrix) into the images, or -1 for a zero.
  LANESCOPE_HOST_DEVICE int64_t Source(int64_t element) const {
    int64_t tap = patch.Split(element);  // element is the position now
    const int64_t channel = channels.Split(tap);
    const int64_t filter_column = filter_columns.Split(tap);
    const int64_t column = columns.Cell(out_columns.Split(element), filter_column);
    const int64_t row = rows.Cell(out_rows.Split(element), tap);
    if (row < 0 || column < 0) return -1;
    return ((element * rows.in + row) * columns.in + column) * channels.divisor() + channel;
  }
};

inline PatchMap MakePatchMap(const WindowAxis& rows, const WindowAxis& columns, int64_t channels,
                             int64_t width) {
  PatchMap map;
  map.rows = rows;
  map.columns = columns;
  map.channels = Divider(channels / width);
  map.filter_columns = Divider(columns.size);
  map.patch = Divider(rows.size * columns.size * (channels / width));
  map.out_columns = Divider(columns.out);
  map.out_rows = Divider(rows.out);
  return map;
}

}  // namespace lanescope::exec::cuda
