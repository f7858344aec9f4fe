// Matrix products on host memory.
#pragma once

#include <cstdint>

#include "exec/kernel.h"

namespace lanescope::exec {

// Row-major, rows `stride` elements apart; the factor is what is stored or its transpose.
template <typename T>
struct MatrixView {
  const T* data;
  int64_t stride;
  bool transposed;
};

// c[m][n] = a[m][k] * b[k][n], c dense; zeros for k = 0. The work is split by (m, n, k) alone, so that no
// number of workers changes a bit. `team` null: on the calling thread. T: float and double (OpenBLAS),
// int32_t and int64_t (which wrap around). Throws Unimplemented for dimensions over 2^31 - 1.
template <typename T>
void Multiply(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c);

}  // namespace lanescope::exec
