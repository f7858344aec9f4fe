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

// c[m][n] = a[m][k] * b[k][n], c dense; zeros for k = 0. Every element of c is one sum over k in a fixed
// order, so that no split of the work changes a bit. `team` null: on the calling thread. T: float, double,
// int32_t, int64_t (integers wrap around).
template <typename T>
void Multiply(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c);

}  // namespace lanescope::exec
