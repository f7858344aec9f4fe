#include "core/graph/ops/qr.h"

#include <algorithm>

#include "core/base/error.h"

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

}  // namespace lanescope::ops
