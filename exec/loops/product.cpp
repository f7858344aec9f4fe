// Matrix products by panels: the innermost loop keeps a tile of rows times one panel of columns in registers,
// broadcasts elements of the left factor from where they lie and streams the right one.
#include "exec/loops/fill.h"
#include "exec/loops/vectors.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename T>
void Pack(int64_t k, int64_t columns, const T* b, int64_t k_step, int64_t column_step, T* panel) {
  if (column_step == 1) {
    for (int64_t i = 0; i < k; ++i) {
      const T* from = b + i * k_step;
      T* to = panel + i * kPanel<T>;
      for (int64_t j = 0; j < columns; ++j) to[j] = from[j];
      for (int64_t j = columns; j < kPanel<T>; ++j) to[j] = T(0);
    }
    return;
  }
  // Columns lie along memory: blocks of k keep what is written in cache.
  constexpr int64_t kBlock = 64;
  for (int64_t first = 0; first < k; first += kBlock) {
    const int64_t last = first + kBlock < k ? first + kBlock : k;
    for (int64_t j = 0; j < kPanel<T>; ++j) {
      const T* from = b + j * column_step;
      for (int64_t i = first; i < last; ++i) panel[i * kPanel<T> + j] = j < columns ? from[i * k_step] : T(0);
    }
  }
}

template <typename T>
Vector<T> LoadSome(const T* from, int64_t count) {
  if (count >= kVectorLanes<T>) return Load(from);
  Vector<T> value = {};
  for (int64_t i = 0; i < count; ++i) value[i] = from[i];
  return value;
}

template <typename T>
void StoreSome(T* to, Vector<T> value, int64_t count) {
  if (count >= kVectorLanes<T>) return Store(to, value);
  for (int64_t i = 0; i < count; ++i) to[i] = value[i];
}

// kAlongK: a row's elements are neighbours (a_k = 1); otherwise a column's are (a_row = 1).
template <typename T, bool kAlongK, int kRows, int kVectors>
void Tile(int64_t columns, int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_step, T* c,
          int64_t c_row, bool add) {
  Vector<T> totals[kRows][kVectors] = {};
  const T* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = a + r * (kAlongK ? a_step : 1);
  for (int64_t i = 0; i < k; ++i) {
    Vector<T> right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = Load(b + v * kVectorLanes<T>);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const T x = kAlongK ? rows[r][i] : a[r];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) totals[r][v] += x * right[v];
    }
    b += b_step;
    if constexpr (!kAlongK) a += a_step;
  }
  // Old totals come in last, so that long sums are sums of blocks.
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      T* to = c + r * c_row + v * kVectorLanes<T>;
      const int64_t count = columns - v * kVectorLanes<T>;
      StoreSome(to, add ? LoadSome(to, count) + totals[r][v] : totals[r][v], count);
    }
  }
}

template <typename T, bool kAlongK, int kRows>
void Rows(int64_t count, int64_t columns, int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_step,
          T* c, int64_t c_row, bool add) {
  if (count == kRows) {
    if (columns > kVectorLanes<T>) {
      Tile<T, kAlongK, kRows, 2>(columns, k, a, a_step, b, b_step, c, c_row, add);
    } else {
      Tile<T, kAlongK, kRows, 1>(columns, k, a, a_step, b, b_step, c, c_row, add);
    }
  } else if constexpr (kRows > 1) {
    Rows<T, kAlongK, kRows - 1>(count, columns, k, a, a_step, b, b_step, c, c_row, add);
  }
}

template <typename T>
void Multiply(int64_t rows, int64_t columns, int64_t k, const T* a, int64_t a_row, int64_t a_k, const T* b,
              int64_t b_step, T* c, int64_t c_row, bool add) {
  EvenTiles(rows, [&](int64_t begin, int64_t count) {
    if (a_k == 1) {
      Rows<T, true, kTileRows>(count, columns, k, a + begin * a_row, a_row, b, b_step, c + begin * c_row,
                               c_row, add);
    } else {
      Rows<T, false, kTileRows>(count, columns, k, a + begin, a_k, b, b_step, c + begin * c_row, c_row, add);
    }
  });
}

// Enough sums side by side to hide the latency of an addition.
constexpr int64_t kLanes = 64;

template <typename T>
T Dot(int64_t n, const T* x, const T* y) {
  T totals[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) totals[lane] += x[i + lane] * y[i + lane];
  }
  for (int64_t lane = 0; i < n; ++i, ++lane) totals[lane] += x[i] * y[i];
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) totals[lane] += totals[lane + half];
  }
  return totals[0];
}

template <typename T>
ProductLoops<T> Make() {
  return {kPanel<T>, Pack<T>, Multiply<T>, Dot<T>};
}

}  // namespace

void FillProduct(Loops& loops) {
  loops.product_float = Make<float>();
  loops.product_double = Make<double>();
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
