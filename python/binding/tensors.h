// SPDX-License-Identifier: Apache-2.0
// Tensors as arrays of NumPy and back.
#pragma once

#include <map>
#include <string>

#include "core/graph/tensor.h"
#include "python/binding/binding.h"

namespace lanescope::python {

// A tensor of anything that numpy.asarray takes; texts become strings in UTF-8. The values are copied. Throws
// InvalidArgument for element types that tensors have not.
Tensor TensorOf(nb::handle array);
std::map<std::string, Tensor> TensorsOf(const nb::dict& arrays);

// Shares the tensor's memory, which nothing else writes any more. bfloat16 becomes float32, and strings
// become an array of bytes objects: NumPy has neither.
nb::object ArrayOf(const Tensor& tensor);

}  // namespace lanescope::python
