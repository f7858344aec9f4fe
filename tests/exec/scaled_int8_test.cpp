// SPDX-License-Identifier: Apache-2.0
// Tensors with a byte an element: y = round(x / m * 127) / 127 * m, where m is the largest magnitude.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/single_output.h"

namespace lanescope::exec::test {
namespace {

Tensor PackedOf(const std::vector<float>& values) {
  const auto count = static_cast<int64_t>(values.size());
  return RunOne(MakeNode("PackScaledInt8", {}), {Tensor::FromValues(Shape{count}, values)}, Shape{count + 4},
                DataType::kInt8, 3);
}

std::vector<float> ThereAndBack(const std::vector<float>& values) {
  const Shape shape{1, static_cast<Dim>(values.size())};
  const Tensor y = RunOne(MakeNode("UnpackScaledInt8", {{"shape", ShapeAttr{shape, ""}}}), {PackedOf(values)},
                          shape, DataType::kFloat, 3);
  return {y.data<float>(), y.data<float>() + values.size()};
}

TEST(ScaledInt8, AScaleAndAByteAnElement) {
  const Tensor packed = PackedOf({-2, 0, 1, 2, 0.5});
  const auto* bytes = static_cast<const int8_t*>(packed.raw_data());
  float scale = 0;
  std::memcpy(&scale, bytes, 4);
  EXPECT_EQ(scale, 2);
  // 63.5 and 31.75: ties go to even.
  EXPECT_EQ(std::vector<int>(bytes + 4, bytes + 9), (std::vector<int>{-127, 0, 64, 127, 32}));
}

// No element is off by more than half a step of 1/127 of the largest; over many blocks of a kernel.
TEST(ScaledInt8, IsWithinHalfAStep) {
  std::vector<float> values;
  for (int i = 0; i < 20000; ++i) values.push_back(3 * std::sin(0.37f * static_cast<float>(i)));
  values[17000] = -5;
  const std::vector<float> back = ThereAndBack(values);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(back[i], values[i], 0.5 * 5 / 127 * 1.0001) << i;
  EXPECT_EQ(back[17000], -5);
}

TEST(ScaledInt8, ZerosTinyAndEmptyTensorsStay) {
  EXPECT_EQ(ThereAndBack({0, -0.0f, 0}), (std::vector<float>{0, 0, 0}));
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(ThereAndBack({tiny, -tiny}), (std::vector<float>{tiny, -tiny}));
  EXPECT_EQ(ThereAndBack({}), std::vector<float>{});
}

// One bad element is seen in all.
TEST(ScaledInt8, WhatIsNotFiniteMakesAllNaN) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const float value : ThereAndBack({1, bad, 2})) EXPECT_TRUE(std::isnan(value)) << bad;
  }
}

}  // namespace
}  // namespace lanescope::exec::test
