// SPDX-License-Identifier: Apache-2.0
// Values of tensors, printed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/graph/tensor.h"

namespace lanescope::cli {

// {name, dtype, shape, values}: the first ten thousand values, null for what is no number.
nlohmann::json TensorJson(const std::string& name, const Tensor& tensor);
// The first eight: "1.5 2 -3 ...".
std::string ValuesText(const Tensor& tensor);

}  // namespace lanescope::cli
