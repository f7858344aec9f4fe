// SPDX-License-Identifier: Apache-2.0
// Tensors written down in a line, and comparisons of them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace lanescope::exec::test {

inline constexpr DataType kF = DataType::kFloat;

template <typename T>
Tensor Values(const Shape& shape, std::vector<T> values) {
  return Tensor::FromValues<T>(shape, values);
}
inline Tensor Floats(const Shape& shape, std::vector<float> values) { return Values<float>(shape, values); }
inline Tensor Ints(std::vector<int32_t> values) {
  return Values<int32_t>(Shape{static_cast<int64_t>(values.size())}, values);
}
inline Tensor Longs(std::vector<int64_t> values) {
  return Values<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
}
inline Tensor Strings(const Shape& shape, std::vector<std::string> values) {
  return Values<std::string>(shape, values);
}

template <typename T>
std::vector<T> ListOf(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.NumElements()};
}

// 0, 1, 2 ...
inline Tensor Counting(const Shape& shape) {
  Tensor tensor(DataType::kFloat, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

// Small reproducible numbers with rounding in every sum.
inline Tensor Noise(const Shape& shape, uint64_t seed = 1) {
  Tensor tensor(DataType::kFloat, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    tensor.data<float>()[i] =
        static_cast<float>(static_cast<int64_t>(seed >> 33) - (int64_t{1} << 30)) * 1e-9f;
  }
  return tensor;
}

inline void ExpectBitwiseEqual(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.dtype(), b.dtype());
  ASSERT_EQ(a.shape(), b.shape());
  if (a.dtype() == DataType::kString) {
    EXPECT_EQ(ListOf<std::string>(a), ListOf<std::string>(b));
  } else if (a.ByteSize() > 0) {
    EXPECT_EQ(std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.ByteSize())), 0);
  }
}

inline void ExpectError(Code code, const std::string& text, const std::function<void()>& run) {
  try {
    run();
    ADD_FAILURE() << "no error; expected " << text;
  } catch (const Error& error) {
    EXPECT_EQ(CodeName(error.code()), CodeName(code)) << error.what();
    EXPECT_NE(error.message().find(text), std::string::npos) << error.what() << "\nlacks: " << text;
  }
}

}  // namespace lanescope::exec::test
