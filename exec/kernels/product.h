// SPDX-License-Identifier: Apache-2.0
// Matrix products on host memory.
#pragma once

#include <cstdint>

#include "exec/device/kernel.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {

// c[m][n] = a[m][k] * b[k][n], c dense; zeros for k = 0. The work is split by (m, n, k) alone, so that no
// number of workers changes a bit. `team` null: on the calling thread. T: float, double, int32_t and int64_t
// (which wrap around). Throws Unimplemented for real factors with dimensions over 2^31 - 1.
template <typename T>
void Multiply(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c);

// The factor from (row, column) on.
template <typename T>
MatrixView<T> From(MatrixView<T> x, int64_t row, int64_t column) {
  const int64_t offset = x.transposed ? column * x.stride + row : row * x.stride + column;
  return {x.data + offset, x.stride, x.transposed};
}

// c[m][n] = or, to `add`, += a[m][k] * b[k][n], for a part of a product on the calling thread; rows of c are
// c_stride elements apart. m, n, k > 0. T: float, double.
template <typename T>
void MultiplyTile(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, bool add, T* c,
                  int64_t c_stride);

}  // namespace lanescope::exec
