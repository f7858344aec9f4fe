// SPDX-License-Identifier: Apache-2.0
// Matrix products on device memory; T is float or double.
#pragma once

#include <cstdint>

namespace lanescope::exec::cuda {

class Launch;

// A batch of dense row-major matrices: rows are `row` elements apart, matrices `step` (0: one for all).
// `turned` uses each matrix transposed.
template <typename T>
struct MatrixBatch {
  const T* data;
  int64_t row;
  int64_t step;
  bool turned;
};

// c[i] = a[i] * b[i], or += where `add`; a: [m, k], b: [k, n] once turned, c dense.
template <typename T>
void RunProduct(Launch& launch, int64_t batches, int64_t m, int64_t n, int64_t k, const MatrixBatch<T>& a,
                const MatrixBatch<T>& b, T* c, bool add);

// x[i] with a[i] x[i] = b[i], by substitution, for triangular a: [rows, rows] (one half of it is read) and b,
// x: [rows, columns]. Matrices are `a_step` and `b_step` apart (0: one for all), x is dense. Without a
// solution elements are infinite or no numbers.
struct TriangularSystems {
  int64_t matrices = 0, rows = 0, columns = 0;
  int64_t a_step = 0, b_step = 0;
  bool lower = true, turned = false;
};
template <typename T>
void RunTriangularSolve(Launch& launch, const TriangularSystems& systems, const T* a, const T* b, T* x);

}  // namespace lanescope::exec::cuda
