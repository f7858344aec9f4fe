// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/qr.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/common.h"

namespace lanescope::ops {

std::pair<Shape, Shape> QrShapes(const Shape& shape, bool full) {
  if (!shape.known_rank()) return {Shape::Unknown(), Shape::Unknown()};
  if (shape.rank() < 2) {
    Throw(Code::kInvalidArgument, "Shape must be at least rank 2 but is rank {}", shape.rank());
  }
  const int rows = shape.rank() - 2, columns = shape.rank() - 1;
  const Dim m = shape[rows], n = shape[columns];
  const Dim k = full ? m : IsExact(m) && IsExact(n) ? std::min(m, n) : kUnknownDim;
  Shape q = shape, r = shape;
  q.set_dim(columns, k);
  r.set_dim(rows, k);
  return {q, r};
}

Shape TriangularSolveShape(const Shape& matrix, const Shape& rhs) {
  for (const Shape& shape : {matrix, rhs}) {
    if (shape.known_rank() && shape.rank() < 2) {
      Throw(Code::kInvalidArgument, "Shape must be at least rank 2 but is rank {}", shape.rank());
    }
  }
  if (!matrix.known_rank() || !rhs.known_rank()) return Shape::Unknown();
  const int a = matrix.rank() - 2, b = rhs.rank() - 2;
  if (Contradict(matrix[a], matrix[a + 1])) {
    Throw(Code::kInvalidArgument, "Dimensions must be equal, but are {} and {}", matrix[a], matrix[a + 1]);
  }
  if (Contradict(matrix[a], rhs[b])) {
    Throw(Code::kInvalidArgument, "Input matrix and rhs are incompatible: {} and {}", matrix.ToString(),
          rhs.ToString());
  }
  Shape result = BroadcastShapes(SubShape(matrix, 0, a), SubShape(rhs, 0, b));
  result.Append(rhs[b]);
  result.Append(rhs[b + 1]);
  return result;
}

}  // namespace lanescope::ops
