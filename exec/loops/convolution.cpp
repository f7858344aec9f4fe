// SPDX-License-Identifier: Apache-2.0
// Convolution as a matrix product that reads its patches where they lie: the innermost loop keeps a tile of
// positions times filters in registers, broadcasts elements of the patches and streams a panel of the filter.
#include "exec/loops/fill.h"
#include "exec/loops/panels.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

// out[row][first, first + valid) of kRows positions, kVectors vectors of filters. Whatever touches the totals
// is unrolled, or they would live in memory. Not inlined: in one function the tiles of all heights would take
// the compiler minutes.
template <typename T, int kRows, int kVectors>
[[gnu::noinline]] void ForwardTile(const PatchTaps& taps, const T* const* patches, const T* panel,
                                   int64_t valid, T* const* out, int64_t first) {
  Vector<T> totals[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      totals[r][v] = Vector<T>{};
      __builtin_prefetch(out[r] + first + v * kVectorLanes<T>);
    }
  }
  for (int64_t tap_row = 0; tap_row < taps.rows; ++tap_row) {
    const T* filters = panel + tap_row * taps.row_elements * kPanel<T>;
    for (int64_t run = 0; run < taps.runs; ++run) {
      const int64_t step = tap_row * taps.row_step + run * taps.run_step;
      const T* rows[kRows];
      for (int r = 0; r < kRows; ++r) rows[r] = patches[r] + step;
      for (int64_t i = 0; i < taps.run_length; ++i) {
        Vector<T> filter[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) filter[v] = Load(filters + v * kVectorLanes<T>);
#pragma GCC unroll 12
        for (int r = 0; r < kRows; ++r) {
          const T x = rows[r][i];
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) totals[r][v] += x * filter[v];
        }
        filters += kPanel<T>;
      }
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    T* to = out[r] + first;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      StoreSome(to + v * kVectorLanes<T>, totals[r][v], valid - v * kVectorLanes<T>);
    }
  }
}

template <typename T, int kRows>
void ForwardRows(int64_t count, const PatchTaps& taps, const T* const* patches, const T* panel, int64_t valid,
                 T* const* out, int64_t first) {
  if (count == kRows) {
    if (valid > kVectorLanes<T>) {
      ForwardTile<T, kRows, 2>(taps, patches, panel, valid, out, first);
    } else {
      ForwardTile<T, kRows, 1>(taps, patches, panel, valid, out, first);
    }
  } else if constexpr (kRows > 1) {
    ForwardRows<T, kRows - 1>(count, taps, patches, panel, valid, out, first);
  }
}

template <typename T>
void Forward(const PatchTaps& taps, int64_t positions, const T* const* patches, const T* panel, int64_t valid,
             T* const* out, int64_t first) {
  EvenTiles(positions, [&](int64_t begin, int64_t count) {
    ForwardRows<T, kTileRows>(count, taps, patches + begin, panel, valid, out + begin, first);
  });
}

template <typename T>
ConvLoops<T> Make() {
  return {kPanel<T>, PackPanels<T>, PackTurnedPanels<T>, Forward<T>};
}

}  // namespace

void FillConvolution(Loops& loops) {
  loops.conv_float = Make<float>();
  loops.conv_double = Make<double>();
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
