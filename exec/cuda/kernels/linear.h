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

}  // namespace lanescope::exec::cuda
