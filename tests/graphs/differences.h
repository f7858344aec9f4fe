// SPDX-License-Identifier: Apache-2.0
// Derivatives of graphs beside differences of the graphs' own values, in double precision.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/exec/reference_interpreter.h"
#include "tests/graphs/golden.h"

namespace lanescope::graphs {

using Tensors = std::map<std::string, Tensor>;

inline Tensor CopyOf(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.shape());
  std::memcpy(copy.raw_data(), tensor.raw_data(), static_cast<size_t>(tensor.ByteSize()));
  return copy;
}

// `gradient`, a tensor of the graph, is the derivative of the scalar `y` by the fed `x`, both of doubles: by
// every element of x it is what y gains over a small step there. `init` runs before each.
inline void ExpectDerivative(const Graph& graph, const Tensors& feeds, const std::string& y,
                             const std::string& x, const std::string& gradient,
                             const std::vector<std::string>& init = {}) {
  constexpr double kStep = 1e-5, kWithin = 1e-7;
  const auto value_of = [&](const Tensors& fed, const std::string& name) {
    exec::test::ReferenceInterpreter session(graph);
    if (!init.empty()) session.Run(fed, {}, init);
    return session.Run(fed, {name})[0];
  };
  const Tensor found = value_of(feeds, gradient);
  const Tensor& at = feeds.at(x);
  ASSERT_EQ(at.dtype(), DataType::kDouble);
  ASSERT_EQ(found.shape(), at.shape()) << gradient;
  const auto beside = [&](int64_t k, double step) {
    Tensors moved = feeds;
    moved[x] = CopyOf(at);
    moved[x].data<double>()[k] += step;
    return NumberAt(value_of(moved, y), 0);
  };
  for (int64_t k = 0; k < at.NumElements(); ++k) {
    const double difference = (beside(k, kStep) - beside(k, -kStep)) / (2 * kStep);
    EXPECT_NEAR(NumberAt(found, k), difference, kWithin * (1 + std::abs(difference)))
        << gradient << ": " << y << " by " << x << ", element " << k;
  }
}

}  // namespace lanescope::graphs
