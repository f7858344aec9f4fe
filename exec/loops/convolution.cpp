// Convolution as a matrix product that reads its patches where they lie: the innermost loop keeps a tile of
// positions times filters in registers, broadcasts elements of the patches and streams a panel of the filter.
#include "exec/loops/fill.h"
#include "exec/loops/vectors.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename T>
void Pack(int64_t k, int64_t n, const T* from, int64_t from_step, T* panels) {
  for (int64_t first = 0; first < n; first += kPanel<T>) {
    const int64_t valid = n - first < kPanel<T> ? n - first : kPanel<T>;
    for (int64_t row = 0; row < k; ++row) {
      for (int64_t i = 0; i < valid; ++i) panels[i] = from[row * from_step + first + i];
      for (int64_t i = valid; i < kPanel<T>; ++i) panels[i] = T(0);
      panels += kPanel<T>;
    }
  }
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

// Panels of a matrix that is stored the other way round: `from` holds n rows of k.
template <typename T>
void PackTurned(int64_t k, int64_t n, const T* from, T* panels, int64_t panel_step) {
  for (int64_t first = 0; first < n; first += kPanel<T>) {
    const int64_t valid = n - first < kPanel<T> ? n - first : kPanel<T>;
    // Few rows at a time, so that the lines they come from stay in the first-level cache.
    for (int64_t begin = 0; begin < k; begin += kVectorLanes<T>) {
      const int64_t end = begin + kVectorLanes<T> < k ? begin + kVectorLanes<T> : k;
      for (int64_t row = begin; row < end; ++row) {
        T* to = panels + row * kPanel<T>;
        for (int64_t i = 0; i < valid; ++i) to[i] = from[(first + i) * k + row];
        for (int64_t i = valid; i < kPanel<T>; ++i) to[i] = T(0);
      }
    }
    panels += panel_step;
  }
}

// out[row][first, first + valid) of kRows positions, kVectors vectors of filters.
template <typename T, int kRows, int kVectors>
void ForwardTile(const PatchRuns& patch, const T* const* patches, const T* panel, int64_t valid,
                 T* const* out, int64_t first) {
  Vector<T> totals[kRows][kVectors] = {};
  for (int64_t run = 0; run < patch.runs; ++run) {
    const T* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = patches[r] + patch.run_offsets[run];
    for (int64_t i = 0; i < patch.run_length; ++i) {
      Vector<T> filter[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) filter[v] = Load(panel + v * kVectorLanes<T>);
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r) {
        const T x = rows[r][i];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) totals[r][v] += x * filter[v];
      }
      panel += kPanel<T>;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    T* to = out[r] + first;
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = valid - v * kVectorLanes<T>;
      if (left >= kVectorLanes<T>) {
        Store(to + v * kVectorLanes<T>, totals[r][v]);
      } else {
        for (int64_t i = 0; i < left; ++i) to[v * kVectorLanes<T> + i] = totals[r][v][i];
      }
    }
  }
}

template <typename T, int kRows>
void ForwardRows(int64_t count, const PatchRuns& patch, const T* const* patches, const T* panel,
                 int64_t valid, T* const* out, int64_t first) {
  if (count == kRows) {
    if (valid > kVectorLanes<T>) {
      ForwardTile<T, kRows, 2>(patch, patches, panel, valid, out, first);
    } else {
      ForwardTile<T, kRows, 1>(patch, patches, panel, valid, out, first);
    }
  } else if constexpr (kRows > 1) {
    ForwardRows<T, kRows - 1>(count, patch, patches, panel, valid, out, first);
  }
}

template <typename T>
void Forward(const PatchRuns& patch, int64_t positions, const T* const* patches, const T* panel,
             int64_t valid, T* const* out, int64_t first) {
  EvenTiles(positions, [&](int64_t begin, int64_t count) {
    ForwardRows<T, kTileRows>(count, patch, patches + begin, panel, valid, out + begin, first);
  });
}

// Positions that the tiles of a filter sum up at a time: their patches' elements and gradients stay in the
// first-level cache.
constexpr int kSummed = 128;

// panel[row] += sum over positions of x[position][row] * grad[position], kRows rows.
template <typename T, int kRows, int kVectors>
void FilterTile(const T* x, int64_t positions, const T* grad, T* panel) {
  Vector<T> totals[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) totals[r][v] = Load(panel + r * kPanel<T> + v * kVectorLanes<T>);
  }
  for (int64_t p = 0; p < positions; ++p) {
    Vector<T> dy[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) dy[v] = Load(grad + p * kPanel<T> + v * kVectorLanes<T>);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) totals[r][v] += x[r] * dy[v];
    }
    x += kRows;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) Store(panel + r * kPanel<T> + v * kVectorLanes<T>, totals[r][v]);
  }
}

// A product's panels beside each other: of `n` columns in all, each `step` elements after the one before.
template <typename T>
struct Panels {
  T* data;
  int64_t step;
};

// All panels of kRows rows of the filter, from element `offset` of the patches on.
template <typename T, int kRows>
void FilterRows(int64_t count, const T* const* patches, int64_t positions, int64_t offset, int64_t n,
                Panels<const T> grads, Panels<T> sums) {
  if (count == kRows) {
    alignas(64) T x[kSummed * kRows];
    for (int64_t p = 0; p < positions; ++p) {
      const T* from = patches[p] + offset;
      for (int r = 0; r < kRows; ++r) x[p * kRows + r] = from[r];
    }
    for (; n > 0; n -= kPanel<T>) {
      if (n > kVectorLanes<T>) {
        FilterTile<T, kRows, 2>(x, positions, grads.data, sums.data);
      } else {
        FilterTile<T, kRows, 1>(x, positions, grads.data, sums.data);
      }
      grads.data += grads.step;
      sums.data += sums.step;
    }
  } else if constexpr (kRows > 1) {
    FilterRows<T, kRows - 1>(count, patches, positions, offset, n, grads, sums);
  }
}

template <typename T>
void FilterGrad(const PatchRuns& patch, int64_t positions, const T* const* patches, const T* grads, int64_t n,
                T* sums) {
  const int64_t sum_step = patch.runs * patch.run_length * kPanel<T>;
  for (int64_t done = 0; done < positions; done += kSummed) {
    const int64_t count = positions - done < kSummed ? positions - done : kSummed;
    T* rows = sums;
    for (int64_t run = 0; run < patch.runs; ++run) {
      EvenTiles(patch.run_length, [&](int64_t begin, int64_t height) {
        FilterRows<T, kTileRows>(height, patches + done, count, patch.run_offsets[run] + begin, n,
                                 {grads + done * kPanel<T>, positions * kPanel<T>},
                                 {rows + begin * kPanel<T>, sum_step});
      });
      rows += patch.run_length * kPanel<T>;
    }
  }
}

template <typename T>
ConvLoops<T> Make() {
  return {kPanel<T>, Pack<T>, Unpack<T>, PackTurned<T>, Forward<T>, FilterGrad<T>};
}

}  // namespace

void FillConvolution(Loops& loops) {
  loops.conv_float = Make<float>();
  loops.conv_double = Make<double>();
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
