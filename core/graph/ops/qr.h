// SPDX-License-Identifier: Apache-2.0
// Shapes of a matrix's factors, and of what equations with triangular matrices have for a solution.
#pragma once

#include <utility>

#include "core/graph/shape.h"

namespace lanescope::ops {

// The orthogonal and the triangular factor of [.., m, n] are [.., m, k] and [.., k, n], with k the smaller
// of both, or m for the full ones. Throws InvalidArgument for what is no matrix.
std::pair<Shape, Shape> QrShapes(const Shape& shape, bool full);

// [.., m, m] and [.., m, n] give the latter, with batches that broadcast. Throws InvalidArgument for other
// shapes.
Shape TriangularSolveShape(const Shape& matrix, const Shape& rhs);

}  // namespace lanescope::ops
