// SPDX-License-Identifier: Apache-2.0
// Rules of reader and decoding ops, for inference and kernels.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/shape.h"

namespace lanescope::ops {

// A default of DecodeCSV is a scalar, or has up to one element. Throws InvalidArgument.
void CheckCsvDefault(const Shape& shape);

// An attribute that is a list of shapes; empty where the node lacks it.
std::vector<Shape> ShapeListOf(const Node& node, std::string_view attr);

}  // namespace lanescope::ops
