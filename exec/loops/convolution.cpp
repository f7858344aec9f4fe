// Convolution as a matrix product that reads its patches where they lie: the innermost loop keeps a tile of
// positions times filters in registers, broadcasts elements of the patches and streams a panel of the filter.
#include "exec/loops/fill.h"
#include "exec/loops/vectors.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename T>
void Pack(int64_t k, int64_t n, const T* filter, T* panels) {
  for (int64_t first = 0; first < n; first += kPanel<T>) {
    const int64_t valid = n - first < kPanel<T> ? n - first : kPanel<T>;
    for (int64_t row = 0; row < k; ++row) {
      for (int64_t i = 0; i < valid; ++i) panels[i] = filter[row * n + first + i];
      for (int64_t i = valid; i < kPanel<T>; ++i) panels[i] = T(0);
      panels += kPanel<T>;
    }
  }
}

template <typename T>
void Unpack(int64_t k, int64_t n, const T* panels, T* filter) {
  for (int64_t first = 0; first < n; first += kPanel<T>) {
    const int64_t valid = n - first < kPanel<T> ? n - first : kPanel<T>;
    for (int64_t row = 0; row < k; ++row) {
      for (int64_t i = 0; i < valid; ++i) filter[row * n + first + i] = panels[i];
      panels += kPanel<T>;
    }
  }
}

// out[row][0, valid) of kRows positions, kVectors vectors of filters.
template <typename T, int kRows, int kVectors>
void ForwardTile(const PatchRuns& patch, const T* base, const T* panel, int64_t valid, T* out,
                 int64_t out_step) {
  Vector<T> totals[kRows][kVectors] = {};
  for (int64_t run = 0; run < patch.runs; ++run) {
    const T* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = base + patch.run_offsets[run] + r * patch.patch_step;
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
    T* to = out + r * out_step;
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
void ForwardRows(int64_t count, const PatchRuns& patch, const T* base, const T* panel, int64_t valid, T* out,
                 int64_t out_step) {
  if (count == kRows) {
    if (valid > kVectorLanes<T>) {
      ForwardTile<T, kRows, 2>(patch, base, panel, valid, out, out_step);
    } else {
      ForwardTile<T, kRows, 1>(patch, base, panel, valid, out, out_step);
    }
  } else if constexpr (kRows > 1) {
    ForwardRows<T, kRows - 1>(count, patch, base, panel, valid, out, out_step);
  }
}

template <typename T>
void Forward(const PatchRuns& patch, int64_t positions, const T* base, const T* panels, int64_t n, T* out,
             int64_t out_step) {
  const int64_t panel_size = patch.runs * patch.run_length * kPanel<T>;
  for (int64_t first = 0; first < n; first += kPanel<T>) {
    EvenTiles(positions, [&](int64_t begin, int64_t count) {
      ForwardRows<T, kTileRows>(count, patch, base + begin * patch.patch_step, panels, n - first,
                                out + begin * out_step + first, out_step);
    });
    panels += panel_size;
  }
}

// Positions whose gradients are gathered before the tiles of the filter see them.
constexpr int kGathered = 128;

// panel[row] += sum over positions of (patch element row) * grad, kRows rows.
template <typename T, int kRows, int kVectors>
void FilterTile(const T* const* patches, int64_t positions, int64_t offset, const T* grad, T* panel) {
  Vector<T> totals[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) totals[r][v] = Load(panel + r * kPanel<T> + v * kVectorLanes<T>);
  }
  for (int64_t p = 0; p < positions; ++p) {
    const T* x = patches[p] + offset;
    Vector<T> dy[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) dy[v] = Load(grad + p * kPanel<T> + v * kVectorLanes<T>);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) totals[r][v] += x[r] * dy[v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) Store(panel + r * kPanel<T> + v * kVectorLanes<T>, totals[r][v]);
  }
}

template <typename T, int kRows>
void FilterRows(int64_t count, const T* const* patches, int64_t positions, int64_t offset, const T* grad,
                int64_t valid, T* panel) {
  if (count == kRows) {
    if (valid > kVectorLanes<T>) {
      FilterTile<T, kRows, 2>(patches, positions, offset, grad, panel);
    } else {
      FilterTile<T, kRows, 1>(patches, positions, offset, grad, panel);
    }
  } else if constexpr (kRows > 1) {
    FilterRows<T, kRows - 1>(count, patches, positions, offset, grad, valid, panel);
  }
}

// All panels for the gathered positions [first, first + count) of the dense gradient.
template <typename T>
void AddGathered(const PatchRuns& patch, const T* const* patches, int64_t count, const T* grad, int64_t n,
                 T* panels) {
  alignas(64) T gathered[kGathered * kPanel<T>];
  for (int64_t first = 0; first < n; first += kPanel<T>) {
    const int64_t valid = n - first < kPanel<T> ? n - first : kPanel<T>;
    for (int64_t p = 0; p < count; ++p) {
      T* to = gathered + p * kPanel<T>;
      for (int64_t i = 0; i < valid; ++i) to[i] = grad[p * n + first + i];
      for (int64_t i = valid; i < kPanel<T>; ++i) to[i] = T(0);
    }
    for (int64_t run = 0; run < patch.runs; ++run) {
      EvenTiles(patch.run_length, [&](int64_t begin, int64_t rows) {
        FilterRows<T, kTileRows>(rows, patches, count, patch.run_offsets[run] + begin, gathered, valid,
                                 panels + begin * kPanel<T>);
      });
      panels += patch.run_length * kPanel<T>;
    }
  }
}

template <typename T>
void FilterGrad(const PatchRuns& patch, int64_t rows, int64_t base_row, int64_t positions, const T* base,
                const T* grad, int64_t n, T* panels) {
  const T* patches[kGathered];
  int64_t count = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t p = 0; p < positions; ++p) {
      patches[count++] = base + row * base_row + p * patch.patch_step;
      if (count == kGathered) {
        AddGathered(patch, patches, count, grad, n, panels);
        grad += count * n;
        count = 0;
      }
    }
  }
  if (count > 0) AddGathered(patch, patches, count, grad, n, panels);
}

template <typename T>
ConvLoops<T> Make() {
  return {kPanel<T>, Pack<T>, Unpack<T>, Forward<T>, FilterGrad<T>};
}

}  // namespace

void FillConvolution(Loops& loops) {
  loops.conv_float = Make<float>();
  loops.conv_double = Make<double>();
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
