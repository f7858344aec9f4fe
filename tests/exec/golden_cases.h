// SPDX-License-Identifier: Apache-2.0
// TensorFlow's recordings of small graphs (tests/golden/ops), read.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/graph/tensor.h"

namespace lanescope::exec::test {

// Sorted; without ".json".
std::vector<std::string> GoldenFiles();
// Calls run(case) for every case of a file; what it throws is a failure of the test.
void ForEachGoldenCase(const std::string& file, const std::function<void(const nlohmann::json&)>& run);

// JSON lacks some numbers: they are texts.
double GoldenNumber(const nlohmann::json& value);
Shape GoldenShape(const nlohmann::json& dims);
// By name.
std::map<std::string, Tensor> GoldenTensors(const nlohmann::json& tensors);

// Calls fn(T*) with the tensor's elements; strings are the caller's business.
template <typename Fn>
void VisitNumbers(Tensor& tensor, Fn&& fn) {
  switch (tensor.dtype()) {
    case DataType::kFloat:
      return fn(static_cast<float*>(tensor.raw_data()));
    case DataType::kDouble:
      return fn(static_cast<double*>(tensor.raw_data()));
    case DataType::kInt8:
      return fn(static_cast<int8_t*>(tensor.raw_data()));
    case DataType::kInt16:
      return fn(static_cast<int16_t*>(tensor.raw_data()));
    case DataType::kInt32:
      return fn(static_cast<int32_t*>(tensor.raw_data()));
    case DataType::kInt64:
      return fn(static_cast<int64_t*>(tensor.raw_data()));
    case DataType::kUint8:
      return fn(static_cast<uint8_t*>(tensor.raw_data()));
    case DataType::kUint16:
      return fn(static_cast<uint16_t*>(tensor.raw_data()));
    case DataType::kUint32:
      return fn(static_cast<uint32_t*>(tensor.raw_data()));
    case DataType::kUint64:
      return fn(static_cast<uint64_t*>(tensor.raw_data()));
    case DataType::kBool:
      return fn(static_cast<bool*>(tensor.raw_data()));
    default:
      Throw(Code::kUnimplemented, "golden values of {}", DataTypeName(tensor.dtype()));
  }
}

}  // namespace lanescope::exec::test
