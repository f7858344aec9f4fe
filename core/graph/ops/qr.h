// Shapes of a matrix's factors.
#pragma once

#include <utility>

#include "core/graph/shape.h"

namespace lanescope::ops {

// Of [.., m, n] the orthogonal factor and the triangular one: [.., m, k] and [.., k, n], with k the smaller
// of both, or m for the full ones. Throws InvalidArgument for what is no matrix.
std::pair<Shape, Shape> QrShapes(const Shape& shape, bool full);

}  // namespace lanescope::ops
