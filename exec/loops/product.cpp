// SPDX-License-Identifier: Apache-2.0
// Matrix products, and the gradient of a convolution by its filter as one of them: a tile of rows times two
// vectors of columns in registers, over panels of the right factor that were copied side by side.
#include "exec/loops/fill.h"
#include "exec/loops/panels.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

// The depth of one sum: a panel stays in the first-level cache, all panels in the second. Sums of
// longer rows are added to the ones before.
constexpr int64_t kDepth = 256;
constexpr int64_t kWidth = 512;
// Positions of a convolution that are summed up at a time: more, since a large filter takes longer to come
// from memory than the panels do from the second-level cache.
constexpr int64_t kSummed = 400;
// From so many panels on, it pays to copy a tile's elements of gathered columns side by side: where they lie,
// they often share few sets of the cache.
constexpr int64_t kCopiedPanels = 3;

// From one panel to the next: a line more than it takes, or the panels would share few sets of the cache.
template <typename T>
constexpr int64_t PanelStep(int64_t depth) {
  return depth * kPanel<T> + kVectorLanes<T>;
}

// Panels of a right factor of n columns, `step` elements apart, and the result's row 0 under them.
template <typename T>
struct Columns {
  int64_t n;
  const T* panels;
  int64_t step;
  bool add;  // to the result, which is overwritten else
  T* c;
  int64_t c_step;
};

// The left factor as kRows rows.
template <typename T, int kRows>
struct StoredRows {
  const T* rows[kRows];

  struct Column {
    const StoredRows& of;
    int64_t i;
    T operator[](int r) const { return of.rows[r][i]; }
  };
  Column column(int64_t i) const { return {*this, i}; }
  static int64_t PanelRow(int64_t i) { return i; }
};

// The left factor as columns, each somewhere: column i goes with row rows[i] of the panels.
template <typename T>
struct Gathered {
  int64_t count;
  const T* const* columns;
  const int64_t* rows;

  const T* column(int64_t i) const {
    const T* x = columns[i];
    asm("" : "+r"(x));  // one address: the compiler would keep one register a row
    return x;
  }
  int64_t PanelRow(int64_t i) const { return rows[i]; }
};

// c[r][0, valid) = or += sums[r].
template <typename T, int kVectors>
[[gnu::noinline]] void AddSums(int rows, const T* sums, bool add, int64_t valid, T* c, int64_t c_step) {
  constexpr int64_t kLanes = kVectorLanes<T>;
  for (int r = 0; r < rows; ++r, c += c_step) {
    for (int64_t v = 0; v < kVectors; ++v, sums += kLanes) {
      T* to = c + v * kLanes;
      const int64_t left = valid - v * kLanes;
      StoreSome(to, add ? LoadSome<T>(to, left) + Load(sums) : Load(sums), left);
    }
  }
}

// c[r][0, valid) = or += sum over i < depth of the left factor's (r, i) * panel[row of i].
template <typename T, int kRows, int kVectors, typename Left>
void ProductTile(int64_t depth, Left x, const T* panel, bool add, int64_t valid, T* c, int64_t c_step) {
  constexpr int64_t kLanes = kVectorLanes<T>;
  Vector<T> totals[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      totals[r][v] = Vector<T>{};
      __builtin_prefetch(c + r * c_step + v * kLanes);  // of a large filter it comes from far
    }
  }
  for (int64_t i = 0; i < depth; ++i) {
    const auto left = x.column(i);
    const T* from = panel + x.PanelRow(i) * kPanel<T>;
    Vector<T> right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = Load(from + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const T value = left[r];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) totals[r][v] += value * right[v];
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

// kRows rows of the result from row `first` on. Not inlined, as little as what calls it: in one function the
// tiles of all heights would take the compiler minutes.
template <typename T, int kRows, typename Left>
[[gnu::noinline]] void ProductRows(int64_t depth, const Left& x, int64_t first, Columns<T> of) {
  T* c = of.c + first * of.c_step;
  for (; of.n > 0; of.n -= kPanel<T>, of.panels += of.step, c += kPanel<T>) {
    if (of.n > kVectorLanes<T>) {
      ProductTile<T, kRows, 2>(depth, x, of.panels, of.add, of.n, c, of.c_step);
    } else {
      ProductTile<T, kRows, 1>(depth, x, of.panels, of.add, of.n, c, of.c_step);
    }
  }
}

template <typename T, int kRows>
void StoredProduct(int64_t count, MatrixView<T> a, int64_t first, int64_t from, int64_t depth,
                   const Columns<T>& of) {
  if (count == kRows) {
    StoredRows<T, kRows> x;
    for (int r = 0; r < kRows; ++r) x.rows[r] = a.data + (first + r) * a.stride + from;
    ProductRows<T, kRows>(depth, x, first, of);
  } else if constexpr (kRows > 1) {
    StoredProduct<T, kRows - 1>(count, a, first, from, depth, of);
  }
}

// `count` rows from element `first` of the gathered columns on, of which there are kSummed at most.
template <typename T, int kRows>
[[gnu::noinline]] void GatheredRows(int64_t count, Gathered<T> x, int64_t first, const Columns<T>& of) {
  if (count == kRows) {
    T copies[kSummed * kRows];
    const T* columns[kSummed];
    const bool copied = of.n > (kCopiedPanels - 1) * kPanel<T>;
    for (int64_t i = 0; i < x.count; ++i) {
      const T* from = x.columns[i] + first;
      columns[i] = copied ? copies + i * kRows : from;
      if (copied) __builtin_memcpy(copies + i * kRows, from, kRows * sizeof(T));
    }
    x.columns = columns;
    ProductRows<T, kRows>(x.count, x, first, of);
  } else if constexpr (kRows > 1) {
    GatheredRows<T, kRows - 1>(count, x, first, of);
  }
}

// All rows of the result.
template <typename T>
void GatheredProduct(int64_t m, const Gathered<T>& x, const Columns<T>& of) {
  EvenTiles(m, [&](int64_t first, int64_t count) { GatheredRows<T, kTileRows>(count, x, first, of); });
}

template <typename T>
void Product(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, bool add, T* c,
             int64_t c_step, T* panels) {
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
      const Columns<T> of{width, panels, PanelStep<T>(depth), add || from > 0, c + column, c_step};
      if (!a.transposed) {
        EvenTiles(m, [&](int64_t first, int64_t count) {
          StoredProduct<T, kTileRows>(count, a, first, from, depth, of);
        });
        continue;
      }
      const T* columns[kDepth];
      int64_t rows[kDepth];
      for (int64_t i = 0; i < depth; ++i) {
        columns[i] = a.data + (from + i) * a.stride;
        rows[i] = i;
      }
      GatheredProduct<T>(m, {depth, columns, rows}, of);
    }
  }
}

template <typename T>
void FilterGrad(int64_t length, int64_t positions, const T* const* x, const int64_t* rows, int64_t n,
                const T* grads, int64_t grad_step, bool add, T* sums, int64_t sum_step) {
  if (positions == 0 && add) return;
  const int64_t chunks = positions > kSummed ? (positions + kSummed - 1) / kSummed : 1;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t done = positions * chunk / chunks;
    const int64_t count = positions * (chunk + 1) / chunks - done;
    GatheredProduct<T>(length, {count, x + done, rows + done},
                       {n, grads, grad_step, add || chunk > 0, sums, sum_step});
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
  return {kWidth / kPanel<T> * PanelStep<T>(kDepth), Product<T>, Transpose<T>, FilterGrad<T>};
}

}  // namespace

void FillProduct(Loops& loops) {
  loops.product_float = MakeProduct<float>();
  loops.product_double = MakeProduct<double>();
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
