#include "exec/kernels/blas.h"

#include <cblas.h>

#include <algorithm>
#include <limits>

namespace lanescope::exec {
namespace {

// The library's own threads would fight with the team's workers and change the order of sums.
void UseOneThread() {
  static const bool done = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

int BlasSize(int64_t n) {
  if (n > std::numeric_limits<blasint>::max()) {
    Throw(Code::kInvalidArgument, "a matrix dimension of {} is beyond what the matrix library takes", n);
  }
  return static_cast<int>(n);
}

CBLAS_TRANSPOSE Order(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

void Gemm(int m, int n, int k, MatrixView<float> a, MatrixView<float> b, float* c, int c_stride) {
  cblas_sgemm(CblasRowMajor, Order(a.transposed), Order(b.transposed), m, n, k, 1.0f, a.data,
              BlasSize(a.stride), b.data, BlasSize(b.stride), 0.0f, c, c_stride);
}
void Gemm(int m, int n, int k, MatrixView<double> a, MatrixView<double> b, double* c, int c_stride) {
  cblas_dgemm(CblasRowMajor, Order(a.transposed), Order(b.transposed), m, n, k, 1.0, a.data,
              BlasSize(a.stride), b.data, BlasSize(b.stride), 0.0, c, c_stride);
}

// y = A x for the stored rows x columns matrix, or its transpose.
void Gemv(bool transposed, int rows, int columns, const float* a, int stride, const float* x, int x_step,
          float* y, int y_step) {
  cblas_sgemv(CblasRowMajor, Order(transposed), rows, columns, 1.0f, a, stride, x, x_step, 0.0f, y, y_step);
}
void Gemv(bool transposed, int rows, int columns, const double* a, int stride, const double* x, int x_step,
          double* y, int y_step) {
  cblas_dgemv(CblasRowMajor, Order(transposed), rows, columns, 1.0, a, stride, x, x_step, 0.0, y, y_step);
}

// A column of c: matrix times vector, which the library does not recognise by itself.
template <typename T>
void MultiplyVector(int64_t m, int64_t k, MatrixView<T> a, const T* x, int64_t x_step, T* c, int64_t c_step) {
  std::fill_n(c, c_step == 1 ? m : 0, T(0));
  Gemv(a.transposed, BlasSize(a.transposed ? k : m), BlasSize(a.transposed ? m : k), a.data,
       BlasSize(a.stride), x, BlasSize(x_step), c, BlasSize(c_step));
}

template <typename T>
void MultiplyReal(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t c_stride) {
  UseOneThread();
  if (n == 1) {
    MultiplyVector(m, k, a, b.data, b.transposed ? 1 : b.stride, c, c_stride);
  } else if (m == 1) {
    const MatrixView<T> turned{b.data, b.stride, !b.transposed};
    MultiplyVector(n, k, turned, a.data, a.transposed ? a.stride : 1, c, 1);
  } else {
    Gemm(BlasSize(m), BlasSize(n), BlasSize(k), a, b, c, BlasSize(c_stride));
  }
}

// Integers wrap around.
template <typename T>
void MultiplyIntegers(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
                      int64_t c_stride) {
  using Wide = std::make_unsigned_t<T>;
  for (int64_t i = 0; i < m; ++i) {
    T* row = c + i * c_stride;
    std::fill_n(row, n, T(0));
    for (int64_t l = 0; l < k; ++l) {
      const auto x = static_cast<Wide>(a.transposed ? a.data[l * a.stride + i] : a.data[i * a.stride + l]);
      for (int64_t j = 0; j < n; ++j) {
        const auto y = static_cast<Wide>(b.transposed ? b.data[j * b.stride + l] : b.data[l * b.stride + j]);
        row[j] = static_cast<T>(static_cast<Wide>(row[j]) + x * y);
      }
    }
  }
}

// Work below which a block is not worth handing out, and rows (columns) below which packing the other factor
// anew for every block costs more than it gains.
constexpr int64_t kBlockFlops = 4'000'000;
constexpr int64_t kBlockRows = 512;

}  // namespace

template <typename T>
void Multiply(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t c_stride) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n, T(0));
    return;
  }
  if constexpr (std::is_floating_point_v<T>) {
    MultiplyReal(m, n, k, a, b, c, c_stride);
  } else {
    MultiplyIntegers(m, n, k, a, b, c, c_stride);
  }
}

ProductBlocks BlocksOf(int64_t m, int64_t n, int64_t k) {
  const bool by_rows = m >= n;
  const int64_t length = std::max(m, n);
  const int64_t other = std::min(m, n);
  const int64_t flops_per_line = std::max<int64_t>(1, 2 * other * k);
  int64_t size = std::max(kBlockRows, (kBlockFlops + flops_per_line - 1) / flops_per_line);
  if (length <= kBlockRows) {
    // A short product over a long k: two halves while each still fills the registers.
    const bool long_k = k >= 4 * length && flops_per_line * length >= 4 * kBlockFlops;
    size = long_k ? std::max<int64_t>(32, (length + 1) / 2) : length;
  }
  size = std::max<int64_t>(1, std::min(size, length));
  return {by_rows, size, length == 0 ? 0 : (length + size - 1) / size};
}

template <typename T>
void MultiplyBlock(const ProductBlocks& blocks, int64_t index, int64_t m, int64_t n, int64_t k,
                   MatrixView<T> a, MatrixView<T> b, T* c) {
  const int64_t begin = index * blocks.size;
  if (blocks.by_rows) {
    a.data += a.transposed ? begin : begin * a.stride;
    Multiply(std::min(blocks.size, m - begin), n, k, a, b, c + begin * n, n);
  } else {
    b.data += b.transposed ? begin * b.stride : begin;
    Multiply(m, std::min(blocks.size, n - begin), k, a, b, c + begin, n);
  }
}

#define LANESCOPE_INSTANTIATE(T)                                                                          \
  template void Multiply<T>(int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, T*, int64_t);        \
  template void MultiplyBlock<T>(const ProductBlocks&, int64_t, int64_t, int64_t, int64_t, MatrixView<T>, \
                                 MatrixView<T>, T*);
LANESCOPE_INSTANTIATE(float)
LANESCOPE_INSTANTIATE(double)
LANESCOPE_INSTANTIATE(int32_t)
LANESCOPE_INSTANTIATE(int64_t)
#undef LANESCOPE_INSTANTIATE

}  // namespace lanescope::exec
