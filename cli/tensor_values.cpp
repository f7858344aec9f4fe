// SPDX-License-Identifier: Apache-2.0
#include "cli/tensor_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "cli/report.h"
#include "core/base/dtype.h"
#include "core/graph/small_float_tensor.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

constexpr int64_t kMaxPrintedElements = 10000, kShownElements = 8;

json ElementJson(const Tensor& tensor, int64_t i) {
  const auto number = [](double x) { return std::isfinite(x) ? json(x) : json(nullptr); };
  switch (tensor.dtype()) {
    case DataType::kFloat:
      return number(tensor.data<float>()[i]);
    case DataType::kDouble:
      return number(tensor.data<double>()[i]);
    case DataType::kBool:
      return tensor.data<bool>()[i];
    case DataType::kString:
      return tensor.data<std::string>()[i];
    default:
      return tensor.IntAt(i);
  }
}

}  // namespace

json TensorJson(const std::string& name, const Tensor& tensor) {
  if (HasSmallFloats(tensor.dtype())) {
    json values = TensorJson(name, WidenedTensor(tensor));
    values["dtype"] = NumpyName(tensor.dtype());
    return values;
  }
  json shape = json::array(), values = json::array();
  for (const Dim dim : tensor.shape().dims()) shape.push_back(dim);
  for (int64_t i = 0; i < std::min(tensor.NumElements(), kMaxPrintedElements); ++i)
    values.push_back(ElementJson(tensor, i));
  return {{"name", name}, {"dtype", NumpyName(tensor.dtype())}, {"shape", shape}, {"values", values}};
}

std::string ValuesText(const Tensor& tensor) {
  if (HasSmallFloats(tensor.dtype())) return ValuesText(WidenedTensor(tensor));
  std::string values;
  for (int64_t i = 0; i < std::min(tensor.NumElements(), kShownElements); ++i) {
    values += i == 0 ? "" : " ";
    values += JsonText(ElementJson(tensor, i));
  }
  return tensor.NumElements() > kShownElements ? values + " ..." : values;
}

}  // namespace lanescope::cli
