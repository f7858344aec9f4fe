// SPDX-License-Identifier: Apache-2.0
// Equations with triangular matrices: a thread for each column of each right side.
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/linear.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
__global__ void SubstituteKernel(TriangularSystems systems, Divider columns, const T* a, const T* b, T* x) {
  const int64_t rows = systems.rows;
  const int64_t width = systems.columns;
  // The lower part of the matrix is the upper one once it is turned.
  const bool down = systems.lower != systems.turned;
  for (int64_t i = ThreadIndex(); i < systems.matrices * width; i += ThreadCount()) {
    int64_t matrix = i;
    const int64_t column = columns.Split(matrix);
    const T* own_a = a + matrix * systems.a_step;
    const T* own_b = b + matrix * systems.b_step + column;
    T* own_x = x + matrix * rows * width + column;
    for (int64_t step = 0; step < rows; ++step) {
      const int64_t r = down ? step : rows - 1 - step;
      T rest = own_b[r * width];
      for (int64_t k = down ? 0 : r + 1; k < (down ? r : rows); ++k) {
        const T factor = systems.turned ? own_a[k * rows + r] : own_a[r * rows + k];
        rest -= factor * own_x[k * width];
      }
      own_x[r * width] = rest / own_a[r * rows + r];
    }
  }
}

}  // namespace

template <typename T>
void RunTriangularSolve(Launch& launch, const TriangularSystems& systems, const T* a, const T* b, T* x) {
  const int64_t threads = systems.matrices * systems.columns;
  if (threads * systems.rows == 0) return;
  SubstituteKernel<T>
      <<<BlocksFor(threads), kThreads, 0, launch.stream()>>>(systems, Divider(systems.columns), a, b, x);
  CheckLaunch("MatrixTriangularSolve");
}

template void RunTriangularSolve<float>(Launch&, const TriangularSystems&, const float*, const float*,
                                        float*);
template void RunTriangularSolve<double>(Launch&, const TriangularSystems&, const double*, const double*,
                                         double*);

}  // namespace lanescope::exec::cuda
