// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/product.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/base/error.h"
#include "core/graph/work_pieces.h"
#include "exec/kernels/blas.h"
#include "exec/kernels/scratch.h"

namespace lanescope::exec {
namespace {

// Tasks of a product: enough for the workers of any device, none so small that handing it over would cost
// more.
constexpr int64_t kMaxTasks = 16;
constexpr int64_t kTaskFlops = 2'000'000;
// The work of a very large product between two looks at whether it has to end: a tenth of a second.
constexpr double kPieceFlops = 1e10;
// Borders between tasks lie on whole tiles of the loops, and tasks are wide: for each of them one factor is
// copied anew.
constexpr int64_t kProductTile = 48;
constexpr int64_t kNarrowestTask = 192;
// Results of so few columns leave half of the loops' tiles empty; OpenBLAS is faster at them.
constexpr int64_t kNarrowest = 16;

void LibraryGemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, MatrixView<float> a,
                 MatrixView<float> b, bool add, float* c, blasint c_stride) {
  HostBlas().sgemm(CblasRowMajor, ta, tb, m, n, k, 1, a.data, static_cast<blasint>(a.stride), b.data,
                   static_cast<blasint>(b.stride), add ? 1 : 0, c, c_stride);
}

void LibraryGemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
                 MatrixView<double> a, MatrixView<double> b, bool add, double* c, blasint c_stride) {
  HostBlas().dgemm(CblasRowMajor, ta, tb, m, n, k, 1, a.data, static_cast<blasint>(a.stride), b.data,
                   static_cast<blasint>(b.stride), add ? 1 : 0, c, c_stride);
}

template <typename T>
CBLAS_TRANSPOSE Turned(MatrixView<T> x) {
  return x.transposed ? CblasTrans : CblasNoTrans;
}

struct ProductPanels;
struct TurnedProduct;

template <typename T>
void Gemm(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, bool add, T* c,
          int64_t c_stride) {
  if (n <= kNarrowest) {
    return LibraryGemm(Turned(a), Turned(b), static_cast<blasint>(m), static_cast<blasint>(n),
                       static_cast<blasint>(k), a, b, add, c, static_cast<blasint>(c_stride));
  }
  const ProductLoops<T>& loops = HostLoops().product<T>();
  T* panels = ThreadScratch<ProductPanels, T>(loops.panel_elements);
  // The right factor is copied to panels: where that means to turn a large one round, the product is turned.
  if (!add && !a.transposed && b.transposed && n * k > m * (n + k)) {
    T* turned = ThreadScratch<TurnedProduct, T>(m * n);
    loops.multiply(n, m, k, {b.data, b.stride, false}, {a.data, a.stride, true}, false, turned, m, panels);
    return loops.transpose(n, m, turned, m, c, c_stride);
  }
  loops.multiply(m, n, k, a, b, add, c, c_stride, panels);
}

// `rows` and `columns` of the matrix as it is stored.
void Gemv(CBLAS_TRANSPOSE t, blasint rows, blasint columns, MatrixView<float> a, const float* x, float* y) {
  HostBlas().sgemv(CblasRowMajor, t, rows, columns, 1, a.data, static_cast<blasint>(a.stride), x, 1, 0, y, 1);
}

void Gemv(CBLAS_TRANSPOSE t, blasint rows, blasint columns, MatrixView<double> a, const double* x,
          double* y) {
  HostBlas().dgemv(CblasRowMajor, t, rows, columns, 1, a.data, static_cast<blasint>(a.stride), x, 1, 0, y, 1);
}

// Calls fn(first, count) for the parts of one side of the result.
template <typename Fn>
void ForParts(WorkerTeam* team, int64_t side, double flops, Fn&& fn) {
  const int64_t tasks = std::clamp<int64_t>(static_cast<int64_t>(flops / kTaskFlops), 1, kMaxTasks);
  const int64_t part =
      std::max(kNarrowestTask, (side / tasks + kProductTile - 1) / kProductTile * kProductTile);
  if (team != nullptr && tasks > 1) {
    team->ParallelFor(side, part, [&](int64_t begin, int64_t end) { fn(begin, end - begin); });
    return;
  }
  for (int64_t begin = 0; begin < side; begin += part) fn(begin, std::min(part, side - begin));
}

// y[rows] = a * x; vectors are contiguous.
template <typename T>
void MultiplyVector(WorkerTeam* team, int64_t rows, int64_t k, MatrixView<T> a, const T* x, T* y) {
  ForParts(team, rows, 2.0 * static_cast<double>(rows) * static_cast<double>(k),
           [&](int64_t first, int64_t count) {
             const auto part = static_cast<blasint>(count), depth = static_cast<blasint>(k);
             Gemv(Turned(a), a.transposed ? depth : part, a.transposed ? part : depth, From(a, first, 0), x,
                  y + first);
           });
}

// The longer side of a very large product in pieces, so that it can end early.
template <typename T>
void MultiplyPieces(const WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b,
                    T* c, int64_t c_stride) {
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto pieces = static_cast<int64_t>(flops / kPieceFlops) + 1;
  const int64_t piece = (std::max(m, n) / pieces + kProductTile) / kProductTile * kProductTile;
  for (int64_t first = 0; first < std::max(m, n); first += piece) {
    if (team != nullptr) team->CheckNotStopped();
    const int64_t row = m >= n ? first : 0, column = m >= n ? 0 : first;
    const int64_t rows = std::min(m >= n ? piece : m, m - row);
    const int64_t columns = std::min(m >= n ? n : piece, n - column);
    Gemm(rows, columns, k, From(a, row, 0), From(b, 0, column), false, c + row * c_stride + column, c_stride);
  }
}

template <typename T>
void MultiplyReal(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  if (std::max({m, n, k, a.stride, b.stride}) > std::numeric_limits<blasint>::max()) {
    Throw(Code::kUnimplemented, "a product of {} x {} by {} x {} exceeds what BLAS can count", m, k, k, n);
  }
  // A vector is contiguous whichever way it is stored.
  if (n == 1) return MultiplyVector(team, m, k, a, b.data, c);
  if (m == 1) return MultiplyVector(team, n, k, {b.data, b.stride, !b.transposed}, a.data, c);
  const bool by_rows = m >= n;
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  ForParts(team, by_rows ? m : n, flops, [&](int64_t first, int64_t count) {
    const int64_t row = by_rows ? first : 0, column = by_rows ? 0 : first;
    MultiplyPieces(team, by_rows ? count : m, by_rows ? n : count, k, From(a, row, 0), From(b, 0, column),
                   c + row * n + column, n);
  });
}

template <typename T>
void MultiplyIntegers(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b,
                      T* c) {
  using Wide = std::make_unsigned_t<T>;
  const auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = c + i * n;
      std::fill_n(row, n, T(0));
      for (int64_t l = 0; l < k; ++l) {
        const auto x = static_cast<Wide>(a.transposed ? a.data[l * a.stride + i] : a.data[i * a.stride + l]);
        for (int64_t j = 0; j < n; ++j) {
          const auto y =
              static_cast<Wide>(b.transposed ? b.data[j * b.stride + l] : b.data[l * b.stride + j]);
          row[j] = static_cast<T>(static_cast<Wide>(row[j]) + x * y);
        }
      }
    }
  };
  if (team != nullptr) {
    team->ParallelFor(m, std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, n * k)), rows);
  } else {
    rows(0, m);
  }
}

}  // namespace

template <typename T>
void Multiply(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, m * n, T(0));
  } else if constexpr (std::is_floating_point_v<T>) {
    MultiplyReal(team, m, n, k, a, b, c);
  } else {
    MultiplyIntegers(team, m, n, k, a, b, c);
  }
}

template <typename T>
void MultiplyTile(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, bool add, T* c,
                  int64_t c_stride) {
  Gemm(m, n, k, a, b, add, c, c_stride);
}

template void MultiplyTile<float>(int64_t, int64_t, int64_t, MatrixView<float>, MatrixView<float>, bool,
                                  float*, int64_t);
template void MultiplyTile<double>(int64_t, int64_t, int64_t, MatrixView<double>, MatrixView<double>, bool,
                                   double*, int64_t);
template void Multiply<float>(WorkerTeam*, int64_t, int64_t, int64_t, MatrixView<float>, MatrixView<float>,
                              float*);
template void Multiply<double>(WorkerTeam*, int64_t, int64_t, int64_t, MatrixView<double>, MatrixView<double>,
                               double*);
template void Multiply<int32_t>(WorkerTeam*, int64_t, int64_t, int64_t, MatrixView<int32_t>,
                                MatrixView<int32_t>, int32_t*);
template void Multiply<int64_t>(WorkerTeam*, int64_t, int64_t, int64_t, MatrixView<int64_t>,
                                MatrixView<int64_t>, int64_t*);

}  // namespace lanescope::exec
