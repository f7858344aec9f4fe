// Matrix products: a tile of rows times two vectors of columns in registers, over panels of the right factor
// that were copied side by side.
#include "exec/loops/fill.h"
#include "exec/loops/panels.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

// What is summed up at a time: a panel stays in the first-level cache, all panels in the second. Sums of
// longer rows are added to the ones before.
constexpr int64_t kDepth = 256;
constexpr int64_t kWidth = 512;
// From one panel to the next: a line more than it takes, or the panels would share few sets of the cache.
template <typename T>
constexpr int64_t PanelStep(int64_t depth) {
  return depth * kPanel<T> + kVectorLanes<T>;
}

// Rows of the left factor, where they lie.
template <typename T, int kRows>
struct StoredRows {
  const T* rows[kRows];
  StoredRows(MatrixView<T> a, int64_t first, int64_t from, int64_t) {
    for (int r = 0; r < kRows; ++r) rows[r] = a.data + (first + r) * a.stride + from;
  }
  T At(int r, int64_t i) const { return rows[r][i]; }
};

// Of a factor that is stored by columns: side by side, since where they lie they share few sets of the cache.
template <typename T, int kRows>
struct TurnedRows {
  T copies[kDepth * kRows];
  TurnedRows(MatrixView<T> a, int64_t first, int64_t from, int64_t depth) {
    for (int64_t i = 0; i < depth; ++i)
      __builtin_memcpy(copies + i * kRows, a.data + (from + i) * a.stride + first, kRows * sizeof(T));
  }
  T At(int r, int64_t i) const { return copies[i * kRows + r]; }
};

// c[r][0, valid) = or += sums[r].
template <typename T, int kVectors>
void AddSums(int rows, const T* sums, bool add, int64_t valid, T* c, int64_t c_step) {
  constexpr int64_t kLanes = kVectorLanes<T>;
  for (int r = 0; r < rows; ++r, c += c_step) {
    for (int64_t v = 0; v < kVectors; ++v, sums += kLanes) {
      T* to = c + v * kLanes;
      const int64_t left = valid - v * kLanes;
      StoreSome(to, add ? LoadSome<T>(to, left) + Load(sums) : Load(sums), left);
    }
  }
}

// c[r][0, valid) = or += sum over i < depth of x(r, i) * panel[i].
template <typename T, int kRows, int kVectors, typename Rows>
void ProductTile(int64_t depth, const Rows& x, const T* panel, bool add, int64_t valid, T* c,
                 int64_t c_step) {
  constexpr int64_t kLanes = kVectorLanes<T>;
  Vector<T> totals[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) totals[r][v] = Vector<T>{};
  }
  for (int64_t i = 0; i < depth; ++i, panel += kPanel<T>) {
    Vector<T> right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = Load(panel + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const T left = x.At(r, i);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) totals[r][v] += left * right[v];
    }
  }
  if (add || valid < kVectors * kLanes) {
    // Through memory: whatever touches the totals is unrolled, and this would be too much of it.
    T sums[kRows * kVectors * kLanes];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) Store(sums + (r * kVectors + v) * kLanes, totals[r][v]);
    }
    AddSums<T, kVectors>(kRows, sums, add, valid, c, c_step);
    return;
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) Store(c + r * c_step + v * kLanes, totals[r][v]);
  }
}

// The columns [0, n) of kRows rows of the result, over `depth` of the rows of the panels.
template <typename T, int kRows, template <typename, int> typename Rows>
void ProductRows(int64_t count, MatrixView<T> a, int64_t first, int64_t from, int64_t depth, int64_t n,
                 const T* panels, T* c, int64_t c_step) {
  if (count == kRows) {
    const Rows<T, kRows> rows(a, first, from, depth);
    c += first * c_step;
    for (; n > 0; n -= kPanel<T>, panels += PanelStep<T>(depth), c += kPanel<T>) {
      if (n > kVectorLanes<T>) {
        ProductTile<T, kRows, 2>(depth, rows, panels, from > 0, n, c, c_step);
      } else {
        ProductTile<T, kRows, 1>(depth, rows, panels, from > 0, n, c, c_step);
      }
    }
  } else if constexpr (kRows > 1) {
    ProductRows<T, kRows - 1, Rows>(count, a, first, from, depth, n, panels, c, c_step);
  }
}

template <typename T>
void Product(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t c_step,
             T* panels) {
  const int64_t slices = (k + kDepth - 1) / kDepth;
  for (int64_t column = 0; column < n; column += kWidth) {
    const int64_t width = n - column < kWidth ? n - column : kWidth;
    for (int64_t slice = 0; slice < slices; ++slice) {
      const int64_t from = k * slice / slices;
      const int64_t depth = k * (slice + 1) / slices - from;
      if (b.transposed) {
        PackTurnedPanels(depth, width, b.data + column * b.stride + from, b.stride, panels,
                         PanelStep<T>(depth));
      } else {
        PackPanels(depth, width, b.data + from * b.stride + column, b.stride, panels, PanelStep<T>(depth));
      }
      EvenTiles(m, [&](int64_t first, int64_t count) {
        (a.transposed ? ProductRows<T, kTileRows, TurnedRows>
                      : ProductRows<T, kTileRows, StoredRows>)(count, a, first, from, depth, width, panels,
                                                               c + column, c_step);
      });
    }
  }
}

template <typename T>
void Transpose(int64_t rows, int64_t n, const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int64_t kLanes = kVectorLanes<T>;
  const int64_t whole_rows = rows / kLanes * kLanes, whole = n / kLanes * kLanes;
  for (int64_t row = 0; row < whole_rows; row += kLanes) {
    for (int64_t i = 0; i < whole; i += kLanes)
      TransposeTile(from + row * from_step + i, from_step, to + i * to_step + row, to_step);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = row < whole_rows ? whole : 0; i < n; ++i)
      to[i * to_step + row] = from[row * from_step + i];
  }
}

template <typename T>
ProductLoops<T> MakeProduct() {
  return {kWidth / kPanel<T> * PanelStep<T>(kDepth), Product<T>, Transpose<T>};
}

}  // namespace

void FillProduct(Loops& loops) {
  loops.product_float = MakeProduct<float>();
  loops.product_double = MakeProduct<double>();
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
