// SPDX-License-Identifier: Apache-2.0
// Constants of one value, and shapes as tensors.
#pragma once

#include <string_view>

#include "core/graph/tensor.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

// Every element is `value`.
Tensor UniformTensor(double value, const lanescope::Shape& shape, DataType dtype);
// The dimensions of an exact shape as an int32 or int64 vector.
Tensor DimsTensor(const lanescope::Shape& shape, DataType dtype);
// Adds UniformTensor to the graph: a small one is written out, a large one filled when it is wanted.
Endpoint FilledTensor(Scope& scope, double value, const lanescope::Shape& shape, DataType dtype,
                      std::string_view name);

}  // namespace lanescope::graphs
