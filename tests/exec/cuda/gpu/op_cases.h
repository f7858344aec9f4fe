// SPDX-License-Identifier: Apache-2.0
// Common parts of all families' op checks.
#pragma once

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/exec/cuda/gpu/op_harness.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::test {

inline constexpr DataType kFloat = DataType::kFloat;
inline constexpr DataType kDouble = DataType::kDouble;
inline constexpr DataType kInt32 = DataType::kInt32;
inline constexpr DataType kInt64 = DataType::kInt64;
inline constexpr DataType kBool = DataType::kBool;

inline AttrMap With(DataType t, AttrMap more = {}) {
  more.insert_or_assign("T", AttrValue(t));
  return more;
}
inline OpCase Case(const std::string& op, AttrMap attrs, std::vector<Tensor> inputs,
                   std::set<int> variables = {}) {
  return {MakeNode(op, std::move(attrs)), std::move(inputs), std::move(variables)};
}
inline Tensor Random(DataType dtype, const Shape& shape, uint32_t seed = 1, double low = -2,
                     double high = 2) {
  return RandomTensor(dtype, shape, seed, low, high);
}
inline Tensor IndicesBelow(int64_t limit, const Shape& shape, uint32_t seed, DataType dtype = kInt64) {
  std::mt19937 random(seed);
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const auto value = static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
    if (dtype == kInt32) {
      tensor.data<int32_t>()[i] = static_cast<int32_t>(value);
    } else {
      tensor.data<int64_t>()[i] = value;
    }
  }
  return tensor;
}
inline Tensor Number(int64_t value) { return Tensor::Scalar<int32_t>(static_cast<int32_t>(value)); }

}  // namespace lanescope::exec::test
