// SPDX-License-Identifier: Apache-2.0
#include "graphs/constants.h"

#include <cstring>
#include <vector>

namespace lanescope::graphs {
namespace {

// Constants up to here are written out; larger ones are filled when they are wanted.
constexpr int64_t kSmall = 1000;

}  // namespace

Tensor UniformTensor(double value, const lanescope::Shape& shape, DataType dtype) {
  const Tensor number = NumbersAs(Tensor::Scalar(value), dtype);
  Tensor tensor(dtype, shape);
  const size_t size = ElementSize(dtype);
  auto* to = static_cast<char*>(tensor.raw_data());
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size, number.raw_data(), size);
  }
  return tensor;
}

Tensor DimsTensor(const lanescope::Shape& shape, DataType dtype) {
  const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  return NumbersAs(Tensor::FromValues(lanescope::Shape{static_cast<Dim>(dims.size())}, dims), dtype);
}

Endpoint FilledTensor(Scope& scope, double value, const lanescope::Shape& shape, DataType dtype,
                      std::string_view name) {
  if (shape.NumElements() < kSmall) return scope.Constant(UniformTensor(value, shape, dtype), name);
  const auto names = scope.Name(name);
  const std::string full = scope.CurrentNames();
  const Endpoint shape_tensor = scope.Constant(DimsTensor(shape, DataType::kInt32), "shape_as_tensor");
  const Endpoint number = scope.Constant(UniformTensor(value, {}, dtype));
  return scope.Add("Fill", full, {shape_tensor, number});
}

}  // namespace lanescope::graphs
