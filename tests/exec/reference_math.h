// SPDX-License-Identifier: Apache-2.0
// Plain double-precision arithmetic that kernel tests compare with, and random tensors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace lanescope::exec::test {

inline Tensor RandomTensor(DataType dtype, const Shape& shape, uint32_t seed, double low = -2,
                           double high = 2) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const double value = uniform(random);
    switch (dtype) {
      case DataType::kFloat:
        tensor.data<float>()[i] = static_cast<float>(value);
        break;
      case DataType::kDouble:
        tensor.data<double>()[i] = value;
        break;
      case DataType::kInt32:
        tensor.data<int32_t>()[i] = static_cast<int32_t>(value);
        break;
      case DataType::kInt64:
        tensor.data<int64_t>()[i] = static_cast<int64_t>(value);
        break;
      default:
        tensor.data<bool>()[i] = value > (low + high) / 2;
    }
  }
  return tensor;
}

inline std::vector<double> Values(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    switch (tensor.dtype()) {
      case DataType::kFloat:
        values.push_back(tensor.data<float>()[i]);
        break;
      case DataType::kDouble:
        values.push_back(tensor.data<double>()[i]);
        break;
      default:
        values.push_back(static_cast<double>(tensor.IntAt(i)));
    }
  }
  return values;
}

// |actual - expected| <= tolerance * (1 + |expected|); NaN equals NaN.
inline void ExpectClose(const Tensor& actual, const std::vector<double>& expected, double tolerance,
                        const std::string& what) {
  const std::vector<double> values = Values(actual);
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(values[i])) << what << " element " << i << " is " << values[i];
      continue;
    }
    if (values[i] == expected[i]) continue;
    ASSERT_NEAR(values[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << what << " element " << i;
  }
}

// ||actual - expected|| <= tolerance * ||expected||, in Euclid's norm: for sums whose order nobody promises,
// of which one element may be off by more where its terms cancel. One wrong element of n is caught from
// tolerance * sqrt(n) of the usual one on.
inline void ExpectCloseInNorm(const Tensor& actual, const std::vector<double>& expected, double tolerance,
                              const std::string& what) {
  const std::vector<double> values = Values(actual);
  ASSERT_EQ(values.size(), expected.size()) << what;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    difference += (values[i] - expected[i]) * (values[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  EXPECT_LE(std::sqrt(difference), tolerance * std::sqrt(norm)) << what;  // false for NaN
}

inline double ToleranceOf(DataType dtype) {
  return dtype == DataType::kFloat ? 2e-6 : dtype == DataType::kDouble ? 1e-13 : 0.0;
}

inline bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         (a.ByteSize() == 0 ||
          std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.ByteSize())) == 0);
}

// Flat index of the element that broadcasting shows at flat index `at` of `shape`.
inline int64_t BroadcastIndex(const Shape& own, const Shape& shape, int64_t at) {
  int64_t index = 0;
  int64_t stride = 1;
  for (int back = 1; back <= shape.rank(); ++back) {
    const int64_t coordinate = at % shape[shape.rank() - back];
    at /= shape[shape.rank() - back];
    if (back > own.rank()) continue;
    if (own[own.rank() - back] != 1) index += coordinate * stride;
    stride *= own[own.rank() - back];
  }
  return index;
}

}  // namespace lanescope::exec::test
