// SPDX-License-Identifier: Apache-2.0
// Stands for cuBLAS's header where there is no GPU: column-major products with the checks that its
// documentation promises.
#pragma once

#include "tests/exec/cuda/emulated/emulator.h"

// NOLINTBEGIN: the names are cuBLAS's.
struct cublasContext {
  cudaStream_t stream = nullptr;
};
using cublasHandle_t = cublasContext*;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INVALID_VALUE };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH };

inline const char* cublasGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_EMULATED"; }
inline const char* cublasGetStatusString(cublasStatus_t) { return "emulated"; }
inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext();
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void* memory, size_t) {
  return reinterpret_cast<uintptr_t>(memory) % 256 == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }

namespace lanescope::exec::emulator {

template <typename T>
struct Factor {
  cublasOperation_t op;
  const T* data;
  int64_t leading;
  long long step;
  T At(int64_t row, int64_t column) const {
    return op == CUBLAS_OP_N ? data[row + column * leading] : data[column + row * leading];
  }
};

template <typename T>
cublasStatus_t Multiply(cublasHandle_t handle, int64_t batches, int64_t m, int64_t n, int64_t k, T alpha,
                        Factor<T> a, Factor<T> b, T beta, T* c, int64_t leading, long long step) {
  const int64_t a_rows = a.op == CUBLAS_OP_N ? m : k, b_rows = b.op == CUBLAS_OP_N ? k : n;
  const bool valid = m >= 0 && n >= 0 && k >= 0 && batches >= 0 &&
                     a.leading >= std::max<int64_t>(1, a_rows) && b.leading >= std::max<int64_t>(1, b_rows) &&
                     leading >= std::max<int64_t>(1, m);
  if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
  streams->Enqueue(handle->stream, [=]() mutable {
    for (int64_t batch = 0; batch < batches; ++batch, a.data += a.step, b.data += b.step) {
      for (int64_t column = 0; column < n; ++column) {
        for (int64_t row = 0; row < m; ++row) {
          T sum = 0;
          for (int64_t i = 0; i < k; ++i) sum += a.At(row, i) * b.At(i, column);
          T& to = c[batch * step + row + column * leading];
          to = alpha * sum + (beta == T(0) ? T(0) : beta * to);  // what is not read may be anything
        }
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace lanescope::exec::emulator

#define LANESCOPE_EMULATED_GEMM(Letter, T)                                                                  \
  inline cublasStatus_t cublas##Letter##gemmStridedBatched_64(                                              \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m, int64_t n,          \
      int64_t k, const T* alpha, const T* a, int64_t lda, long long step_a, const T* b, int64_t ldb,        \
      long long step_b, const T* beta, T* c, int64_t ldc, long long step_c, int64_t batches) {              \
    return lanescope::exec::emulator::Multiply<T>(handle, batches, m, n, k, *alpha, {op_a, a, lda, step_a}, \
                                                  {op_b, b, ldb, step_b}, *beta, c, ldc, step_c);           \
  }                                                                                                         \
  inline cublasStatus_t cublas##Letter##gemm_64(cublasHandle_t handle, cublasOperation_t op_a,              \
                                                cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,    \
                                                const T* alpha, const T* a, int64_t lda, const T* b,        \
                                                int64_t ldb, const T* beta, T* c, int64_t ldc) {            \
    return lanescope::exec::emulator::Multiply<T>(handle, 1, m, n, k, *alpha, {op_a, a, lda, 0},            \
                                                  {op_b, b, ldb, 0}, *beta, c, ldc, 0);                     \
  }
LANESCOPE_EMULATED_GEMM(S, float)
LANESCOPE_EMULATED_GEMM(D, double)
#undef LANESCOPE_EMULATED_GEMM
// NOLINTEND
