// SPDX-License-Identifier: Apache-2.0
#include "core/graph/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::HasSubstr;

TEST(Tensor, StartsZeroedAndAligned) {
  const Tensor tensor(DataType::kFloat, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw_data()) % 64, 0u);
  EXPECT_EQ(tensor.ByteSize(), 60);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(tensor.data<float>()[i], 0.0f);
}

TEST(Tensor, EmptyTensorsHaveAnAddress) {
  const Tensor tensor(DataType::kFloat, {0, 5});
  EXPECT_EQ(tensor.NumElements(), 0);
  EXPECT_NE(tensor.raw_data(), nullptr);
  EXPECT_TRUE(tensor.valid());
  EXPECT_FALSE(Tensor().valid());
}

TEST(Tensor, CopiesAndReshapesShareTheBuffer) {
  Tensor tensor = Tensor::FromValues<int32_t>({2, 2}, {1, 2, 3, 4});
  const Tensor reshaped = tensor.Reshaped({4});
  tensor.data<int32_t>()[0] = 9;
  EXPECT_EQ(reshaped.data<int32_t>()[0], 9);
  EXPECT_EQ(reshaped.shape(), Shape{4});
  EXPECT_THAT(ErrorOf([&] { tensor.Reshaped({3}); }), HasSubstr("InvalidArgument"));
}

TEST(Tensor, StringsCountTheirCharacters) {
  const Tensor tensor = Tensor::FromValues<std::string>({2}, {"abc", std::string(100, 'x')});
  EXPECT_EQ(tensor.ByteSize(), 103);
  EXPECT_EQ(tensor.data<std::string>()[0], "abc");
}

TEST(Tensor, ImpossibleOnesAreRefused) {
  EXPECT_THAT(ErrorOf([] { Tensor(DataType::kFloat, {kUnknownDim}); }), HasSubstr("exact shape"));
  EXPECT_THAT(ErrorOf([] { Tensor(DataType::kFloat, {int64_t{1} << 39}); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([] { Tensor(DataType::kString, {int64_t{1} << 39}); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([] { Tensor(DataType::kResource, {}); }), HasSubstr("resource"));
  EXPECT_THAT(ErrorOf([] { Tensor(DataType::kInvalid, {}); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([] { Tensor::Scalar(1.0f).data<int32_t>(); }), HasSubstr("Internal"));
}

TEST(Tensor, IntegersOfAnyIntegerType) {
  EXPECT_EQ(Tensor::Scalar<int32_t>(-5).IntAt(0), -5);
  EXPECT_EQ(Tensor::Scalar<int64_t>(int64_t{1} << 40).IntAt(0), int64_t{1} << 40);
  EXPECT_EQ(Tensor::Scalar(true).IntAt(0), 1);
  EXPECT_EQ(Tensor::Scalar<uint8_t>(200).IntAt(0), 200);
  EXPECT_THAT(ErrorOf([] { Tensor::Scalar(1.0f).IntAt(0); }), HasSubstr("float"));
  EXPECT_THAT(ErrorOf([] { Tensor::Scalar<int32_t>(1).IntAt(1); }), HasSubstr("index 1"));
}

}  // namespace
}  // namespace lanescope
