// SPDX-License-Identifier: Apache-2.0
// Tensors of floats, and the GPUs that tests put them on.
#pragma once

#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace lanescope::graphs {

inline std::vector<float> FloatsOf(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.NumElements()};
}

inline Tensor Floats(const lanescope::Shape& shape, const std::vector<float>& values) {
  return Tensor::FromValues(shape, values);
}

inline std::vector<std::string> Gpus(int count) {
  std::vector<std::string> devices;
  for (int i = 0; i < count; ++i) devices.push_back("/device:GPU:" + std::to_string(i));
  return devices;
}

}  // namespace lanescope::graphs
