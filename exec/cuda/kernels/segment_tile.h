// SPDX-License-Identifier: Apache-2.0
// Rows with sorted numbers, combined in tiles of fixed size: the first pass finishes the groups that lie
// within a tile and leaves partial results of those that cross its borders, the second one joins these. The
// order of operations depends on the numbers alone. Evaluated on host and device.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/index_reader.h"
#include "exec/cuda/kernels/search.h"
#include "exec/functors/binary.h"
#include "exec/kernels/row_arithmetic.h"

namespace lanescope::exec::cuda {

inline constexpr int64_t kTileUpdates = 32;

// total = total op x of one group; Assign keeps the last.
template <typename T>
LANESCOPE_HOST_DEVICE T JoinRows(Combine how, T total, T x) {
  switch (how) {
    case Combine::kAssign:
      return x;
    case Combine::kMul:
    case Combine::kDiv:
      return functors::Mul()(total, x);
    case Combine::kMin:
      return functors::Minimum()(total, x);
    case Combine::kMax:
      return functors::Maximum()(total, x);
    default:
      return functors::Add()(total, x);
  }
}

// A row after the total of its updates: subtracting each is subtracting their sum, dividing by
// each is dividing by their product.
template <typename T>
LANESCOPE_HOST_DEVICE T UpdatedRow(Combine how, T old, T total) {
  switch (how) {
    case Combine::kSub:
      return functors::Sub()(old, total);
    case Combine::kDiv:
      return functors::Div()(old, total);
    default:
      return JoinRows(how, old, total);
  }
}

// Value type, passed to kernels as a parameter; T: float, double, int32, int64.
template <typename T>
struct SegmentTiles {
  Combine how = Combine::kAdd;
  int scaling = 0;     // 1: by the number of rows of a group, 2: by its square root
  bool store = false;  // the total replaces what the row holds
  int64_t updates = 0;
  int64_t rows = 0;       // groups outside [0, rows) are left out
  int64_t data_rows = 0;  // rows of data outside [0, data_rows) count as zeros
  int64_t data_step = 1;  // 0: one number for all
  Divider inner;
  IndexReader keys;   // sorted
  IndexReader order;  // data row of each update; without data: its own number
  const T* data = nullptr;
  T* target = nullptr;
  T* heads = nullptr;  // [tiles, inner]: the part of a group that began in an earlier tile
  T* tails = nullptr;  // [tiles, inner]: the part of a group that goes on in the next tile

  LANESCOPE_HOST_DEVICE int64_t tiles() const { return (updates + kTileUpdates - 1) / kTileUpdates; }

  LANESCOPE_HOST_DEVICE T Value(int64_t update, int64_t column) const {
    if (data_step == 0) return data[0];
    const int64_t row = order.data == nullptr ? update : order[update];
    if (row < 0 || row >= data_rows) return T(0);
    return data[row * inner.divisor() + column];
  }

  LANESCOPE_HOST_DEVICE void Write(int64_t row, int64_t column, T total, int64_t count) const {
    if (row < 0 || row >= rows) return;
    if (scaling != 0 && count > 1) {
      const double divisor =
          scaling == 1 ? static_cast<double>(count) : functors::Sqrt()(static_cast<double>(count));
      total = static_cast<T>(total / static_cast<T>(divisor));
    }
    T& to = target[row * inner.divisor() + column];
    to = store ? total : UpdatedRow(how, to, total);
  }

  // First pass, one column of one tile.
  LANESCOPE_HOST_DEVICE void RunTile(int64_t tile, int64_t column) const {
    const int64_t begin = tile * kTileUpdates;
    const int64_t end = begin + kTileUpdates < updates ? begin + kTileUpdates : updates;
    const int64_t at = tile * inner.divisor() + column;
    int64_t key = keys[begin];
    bool begun_before = begin > 0 && keys[begin - 1] == key;
    T total = T(0);
    int64_t count = 0;
    for (int64_t update = begin; update < end; ++update) {
      const int64_t next = keys[update];
      if (next != key) {
        if (begun_before) {
          heads[at] = total;
        } else {
          Write(key, column, total, count);
        }
        key = next;
        begun_before = false;
        count = 0;
      }
      const T value = Value(update, column);
      total = count == 0 ? value : JoinRows(how, total, value);
      ++count;
    }
    if (begun_before) {
      heads[at] = total;
    } else if (end < updates && keys[end] == key) {
      tails[at] = total;
    } else {
      Write(key, column, total, count);
    }
  }

  // Second pass: the group that begins in this tile and goes on in the next, if there is one.
  LANESCOPE_HOST_DEVICE void JoinTile(int64_t tile, int64_t column) const {
    const int64_t begin = tile * kTileUpdates;
    const int64_t end = begin + kTileUpdates;
    if (end >= updates) return;
    const int64_t key = keys[end - 1];
    if (keys[end] != key || (begin > 0 && keys[begin - 1] == key)) return;
    int64_t first = end - 1;
    while (first > begin && keys[first - 1] == key) --first;
    const int64_t last = UpperBound(keys, updates, key);
    T total = tails[tile * inner.divisor() + column];
    for (int64_t t = tile + 1; t <= (last - 1) / kTileUpdates; ++t) {
      total = JoinRows(how, total, heads[t * inner.divisor() + column]);
    }
    Write(key, column, total, last - first);
  }
};

}  // namespace lanescope::exec::cuda
