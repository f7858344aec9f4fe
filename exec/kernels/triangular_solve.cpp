// SPDX-License-Identifier: Apache-2.0
// Equations with triangular matrices on host memory, by substitution row after row.
#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/qr.h"
#include "exec/kernels/depthwise.h"
#include "exec/kernels/matmul_shape.h"
#include "exec/kernels/triangular_plan.h"

namespace lanescope::exec {

TriangularPlan TriangularSolveOp::Plan(KernelContext& context) const {
  const Shape result = ops::TriangularSolveShape(context.input(0).shape, context.input(1).shape);
  context.SetOutputShape(0, result);
  const Shape batch = MatMulShape::BatchOf(result);
  return {batch.NumElements(), result[result.rank() - 2], result[result.rank() - 1], lower_, turned_, batch};
}

namespace {

template <typename T>
void Solve(const T* a, const T* b, const TriangularPlan& plan, T* x) {
  const int64_t rows = plan.rows, columns = plan.columns;
  // Which half of the matrix as it is used holds numbers: what was below is above once it is turned.
  const bool down = plan.lower != plan.turned;
  std::copy_n(b, rows * columns, x);
  for (int64_t step = 0; step < rows; ++step) {
    const int64_t r = down ? step : rows - 1 - step;
    const auto at = [&](int64_t column) { return plan.turned ? a[column * rows + r] : a[r * rows + column]; };
    T* row = x + r * columns;
    for (int64_t k = down ? 0 : r + 1; k < (down ? r : rows); ++k) {
      const T factor = at(k);
      for (int64_t c = 0; c < columns; ++c) row[c] -= factor * x[k * columns + c];
    }
    const T pivot = at(r);
    if (pivot == T(0)) Throw(Code::kInvalidArgument, "Input matrix is not invertible.");
    for (int64_t c = 0; c < columns; ++c) row[c] /= pivot;
  }
}

void SolveAll(KernelContext& context, const TriangularPlan& plan) {
  const TensorRef &a = context.input(0), &b = context.input(1);
  if (context.output().NumElements() == 0) return;
  DispatchReal("MatrixTriangularSolve", a.dtype, [&]<typename T>(T) {
    context.team().ParallelFor(plan.matrices, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Solve(a.as<const T>() + MatMulShape::MatrixOffset(a.shape, plan.batch, i),
              b.as<const T>() + MatMulShape::MatrixOffset(b.shape, plan.batch, i), plan,
              context.output().as<T>() + i * plan.rows * plan.columns);
      }
    });
  });
}

}  // namespace

void RegisterTriangularKernels(KernelRegistry& registry) {
  RegisterOp<TriangularSolveOp, SolveAll>(registry, "MatrixTriangularSolve");
}

}  // namespace lanescope::exec
