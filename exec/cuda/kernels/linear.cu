// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>

#include "exec/cuda/kernels/linear.h"
#include "exec/cuda/launch.cuh"

namespace lanescope::exec::cuda {
namespace {

// Row-major matrices are the transposes of what cuBLAS sees, so that the factors change places.
int Gemm(cublasHandle_t blas, int64_t batches, int64_t m, int64_t n, int64_t k, const MatrixBatch<float>& a,
         const MatrixBatch<float>& b, float* c, float beta) {
  const float one = 1.0f;
  return cublasSgemmStridedBatched_64(blas, b.turned ? CUBLAS_OP_T : CUBLAS_OP_N,
                                      a.turned ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b.data, b.row,
                                      b.step, a.data, a.row, a.step, &beta, c, n, m * n, batches);
}
int Gemm(cublasHandle_t blas, int64_t batches, int64_t m, int64_t n, int64_t k, const MatrixBatch<double>& a,
         const MatrixBatch<double>& b, double* c, double beta) {
  const double one = 1.0;
  return cublasDgemmStridedBatched_64(blas, b.turned ? CUBLAS_OP_T : CUBLAS_OP_N,
                                      a.turned ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b.data, b.row,
                                      b.step, a.data, a.row, a.step, &beta, c, n, m * n, batches);
}
int Gemm(cublasHandle_t blas, int64_t m, int64_t n, int64_t k, const MatrixBatch<float>& a,
         const MatrixBatch<float>& b, float* c, float beta) {
  const float one = 1.0f;
  return cublasSgemm_64(blas, b.turned ? CUBLAS_OP_T : CUBLAS_OP_N, a.turned ? CUBLAS_OP_T : CUBLAS_OP_N, n,
                        m, k, &one, b.data, b.row, a.data, a.row, &beta, c, n);
}
int Gemm(cublasHandle_t blas, int64_t m, int64_t n, int64_t k, const MatrixBatch<double>& a,
         const MatrixBatch<double>& b, double* c, double beta) {
  const double one = 1.0;
  return cublasDgemm_64(blas, b.turned ? CUBLAS_OP_T : CUBLAS_OP_N, a.turned ? CUBLAS_OP_T : CUBLAS_OP_N, n,
                        m, k, &one, b.data, b.row, a.data, a.row, &beta, c, n);
}

}  // namespace

template <typename T>
void RunProduct(Launch& launch, int64_t batches, int64_t m, int64_t n, int64_t k, const MatrixBatch<T>& a,
                const MatrixBatch<T>& b, T* c, bool add) {
  if (batches * m * n == 0) return;
  if (k == 0) {
    if (add) return;
    const auto bytes = static_cast<size_t>(batches * m * n) * sizeof(T);
    return Check(cudaMemsetAsync(c, 0, bytes, launch.stream()), "clearing memory");
  }
  const T beta = add ? T(1) : T(0);
  const int status = batches == 1 ? Gemm(launch.cublas(), m, n, k, a, b, c, beta)
                                  : Gemm(launch.cublas(), batches, m, n, k, a, b, c, beta);
  CheckCublas(status, "a matrix product");
}

template void RunProduct<float>(Launch&, int64_t, int64_t, int64_t, int64_t, const MatrixBatch<float>&,
                                const MatrixBatch<float>&, float*, bool);
template void RunProduct<double>(Launch&, int64_t, int64_t, int64_t, int64_t, const MatrixBatch<double>&,
                                 const MatrixBatch<double>&, double*, bool);

}  // namespace lanescope::exec::cuda
