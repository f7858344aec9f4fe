// Convolution as a matrix product that reads its patches where they lie: the innermost loop keeps a tile of
// positions times filters in registers, broadcasts elements of the patches and streams a panel of the filter.
#include "exec/loops/fill.h"
#include "exec/loops/panels.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename T>
void Pack(int64_t k, int64_t n, const T* from, int64_t from_step, T* panels) {
  PackPanels(k, n, from, from_step, panels, k * kPanel<T>);
}

template <typename T>
void Unpack(int64_t k, int64_t n, const T* panels, T* to, int64_t to_step) {
  for (int64_t first = 0; first < n; first += kPanel<T>) {
    const int64_t valid = n - first < kPanel<T> ? n - first : kPanel<T>;
    for (int64_t row = 0; row < k; ++row) {
      for (int64_t i = 0; i < valid; ++i) to[row * to_step + first + i] = panels[i];
      panels += kPanel<T>;
    }
  }
}

// out[row][first, first + valid) of kRows positions, kVectors vectors of filters. Whatever touches the totals
// is unrolled, or they would live in memory.
template <typename T, int kRows, int kVectors>
void ForwardTile(const PatchTaps& taps, const T* const* patches, const T* panel, int64_t valid, T* const* out,
                 int64_t first) {
  Vector<T> totals[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) totals[r][v] = Vector<T>{};
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

// Positions that the tiles of a filter sum up at a time: their patches' elements and gradients stay in the
// first-level cache.
constexpr int kSummed = 128;
// From so many panels on, it pays to copy a tile's elements of the patches side by side: where they lie, they
// often share few sets of the cache.
constexpr int kCopiedPanels = 3;

// Parts of `positions` positions: their elements and the rows of their gradients.
template <typename T>
struct Summands {
  int64_t positions;
  const T* const* x;
  const int64_t* rows;
};

// panel[r] += sum over positions of x[position][first + r] * grads[row of the position], kRows rows.
template <typename T, int kRows, int kVectors>
void FilterTile(const Summands<T>& of, int64_t first, const T* grads, T* panel) {
  Vector<T> totals[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) totals[r][v] = Load(panel + r * kPanel<T> + v * kVectorLanes<T>);
  }
  for (int64_t p = 0; p < of.positions; ++p) {
    const T* x = of.x[p] + first;
    asm("" : "+r"(x));  // one address: the compiler would keep one register a row
    const T* grad = grads + of.rows[p] * kPanel<T>;
    Vector<T> dy[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) dy[v] = Load(grad + v * kVectorLanes<T>);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) totals[r][v] += x[r] * dy[v];
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) Store(panel + r * kPanel<T> + v * kVectorLanes<T>, totals[r][v]);
  }
}

// A product's panels beside each other, each `step` elements after the one before.
template <typename T>
struct Panels {
  T* data;
  int64_t step;
};

// All panels of kRows rows of the filter, from element `first` of the patches' parts on.
template <typename T, int kRows>
void FilterRows(int64_t count, Summands<T> of, int64_t first, int64_t n, Panels<const T> grads,
                Panels<T> sums) {
  if (count == kRows) {
    T copies[kSummed * kRows];
    const T* copied[kSummed];
    if (n > (kCopiedPanels - 1) * kPanel<T>) {
      for (int64_t p = 0; p < of.positions; ++p) {
        copied[p] = copies + p * kRows;
        __builtin_memcpy(copies + p * kRows, of.x[p] + first, kRows * sizeof(T));
      }
      of.x = copied;
      first = 0;
    }
    for (; n > 0; n -= kPanel<T>) {
      if (n > kVectorLanes<T>) {
        FilterTile<T, kRows, 2>(of, first, grads.data, sums.data);
      } else {
        FilterTile<T, kRows, 1>(of, first, grads.data, sums.data);
      }
      grads.data += grads.step;
      sums.data += sums.step;
    }
  } else if constexpr (kRows > 1) {
    FilterRows<T, kRows - 1>(count, of, first, n, grads, sums);
  }
}

template <typename T>
void FilterGrad(int64_t length, int64_t positions, const T* const* x, const int64_t* rows, int64_t n,
                const T* grads, int64_t grad_step, T* sums, int64_t sum_step) {
  const int64_t chunks = (positions + kSummed - 1) / kSummed;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t done = positions * chunk / chunks;
    const int64_t count = positions * (chunk + 1) / chunks - done;
    EvenTiles(length, [&](int64_t first, int64_t height) {
      FilterRows<T, kTileRows>(height, {count, x + done, rows + done}, first, n, {grads, grad_step},
                               {sums + first * kPanel<T>, sum_step});
    });
  }
}

template <typename T>
ConvLoops<T> Make() {
  return {kPanel<T>, Pack<T>, Unpack<T>, PackTurnedPanels<T>, Forward<T>, FilterGrad<T>};
}

}  // namespace

void FillConvolution(Loops& loops) {
  loops.conv_float = Make<float>();
  loops.conv_double = Make<double>();
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
