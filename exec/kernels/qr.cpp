// SPDX-License-Identifier: Apache-2.0
// Matrices as a product of orthogonal and triangular ones, by Householder reflections with LAPACK's signs.
#include "core/graph/ops/qr.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/kernels/depthwise.h"
#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {
namespace {

struct QrPlan {
  int64_t matrices, rows, columns, q_columns;
};

class QrOp {
 public:
  explicit QrOp(const Node& node) : full_(node.BoolAttr("full_matrices", false)) {}
  QrPlan Plan(KernelContext& context) const {
    const Shape& shape = context.input(0).shape;
    const auto [q, r] = lanescope::ops::QrShapes(shape, full_);
    context.SetOutputShape(0, q);
    context.SetOutputShape(1, r);
    const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
    int64_t matrices = 1;
    for (int i = 0; i + 2 < shape.rank(); ++i) matrices *= shape[i];
    return {matrices, rows, columns, q[q.rank() - 1]};
  }

 private:
  bool full_;
};

// I - scale * v * v', where v is 1 in row `at` and below it what the column holds, to columns from `first`
// on.
template <typename T>
void Reflect(const std::vector<T>& v, T scale, int64_t at, int64_t first, int64_t rows, int64_t columns,
             T* a) {
  for (int64_t c = first; c < columns; ++c) {
    T dot = 0;
    for (int64_t r = at; r < rows; ++r) dot += v[static_cast<size_t>(r)] * a[r * columns + c];
    dot *= scale;
    for (int64_t r = at; r < rows; ++r) a[r * columns + c] -= dot * v[static_cast<size_t>(r)];
  }
}

template <typename T>
void Factor(const T* x, const QrPlan& plan, T* q, T* r) {
  const int64_t rows = plan.rows, columns = plan.columns, steps = std::min(rows, columns);
  std::vector<T> a(x, x + rows * columns);
  std::vector<std::vector<T>> reflectors;
  std::vector<T> scales;
  for (int64_t k = 0; k < steps; ++k) {
    std::vector<T> v(static_cast<size_t>(rows), T(0));
    T below = 0;
    for (int64_t i = k + 1; i < rows; ++i) {
      v[static_cast<size_t>(i)] = a[static_cast<size_t>(i * columns + k)];
      below += v[static_cast<size_t>(i)] * v[static_cast<size_t>(i)];
    }
    const T head = a[static_cast<size_t>(k * columns + k)];
    v[static_cast<size_t>(k)] = 1;
    T scale = 0;
    if (below > std::numeric_limits<T>::min()) {
      const T norm = std::sqrt(head * head + below);
      const T beta = head >= 0 ? -norm : norm;
      for (int64_t i = k + 1; i < rows; ++i) v[static_cast<size_t>(i)] /= head - beta;
      scale = (beta - head) / beta;
      Reflect(v, scale, k, k, rows, columns, a.data());
    }
    reflectors.push_back(std::move(v));
    scales.push_back(scale);
  }
  for (int64_t i = 0; i < plan.q_columns; ++i) {
    for (int64_t c = 0; c < columns; ++c)
      r[i * columns + c] = c < i ? T(0) : a[static_cast<size_t>(i * columns + c)];
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = 0; c < plan.q_columns; ++c) q[i * plan.q_columns + c] = T(i == c);
  }
  for (int64_t k = steps; k-- > 0;) {
    const auto at = static_cast<size_t>(k);
    if (scales[at] != 0) Reflect(reflectors[at], scales[at], k, k, rows, plan.q_columns, q);
  }
}

void FactorAll(KernelContext& context, const QrPlan& plan) {
  DispatchReal("Qr", context.input(0).dtype, [&]<typename T>(T) {
    context.team().ParallelFor(plan.matrices, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Factor(context.input(0).as<T>() + i * plan.rows * plan.columns, plan,
               context.output(0).as<T>() + i * plan.rows * plan.q_columns,
               context.output(1).as<T>() + i * plan.q_columns * plan.columns);
      }
    });
  });
}

}  // namespace

void RegisterQrKernels(KernelRegistry& registry) { RegisterOp<QrOp, FactorAll>(registry, "Qr"); }

}  // namespace lanescope::exec
