// SPDX-License-Identifier: Apache-2.0
// Kernels of half and bfloat16: the result in float, rounded once; law of each op in exact numbers.
#include "exec/kernels/small_floats.h"

#include <gtest/gtest.h>

#include <bit>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/single_output.h"

namespace lanescope::exec::test {
namespace {

Tensor RoundedTensor(DataType dtype, const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(dtype, shape);
  FloatToSmall(dtype, tensor.NumElements(), values.data(), tensor.raw_data());
  return tensor;
}

std::vector<float> WidenedValues(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.NumElements()));
  SmallToFloat(tensor.dtype(), tensor.NumElements(), tensor.raw_data(), values.data());
  return values;
}

class SmallFloats : public testing::TestWithParam<DataType> {
 protected:
  const DataType dtype_ = GetParam();

  std::vector<float> Run(Node node, std::vector<Tensor> inputs, const Shape& output) const {
    return WidenedValues(RunOne(node, std::move(inputs), output, dtype_, 2));
  }
  Tensor Of(const Shape& shape, const std::vector<float>& values) const {
    return RoundedTensor(dtype_, shape, values);
  }
};

INSTANTIATE_TEST_SUITE_P(, SmallFloats, testing::Values(DataType::kHalf, DataType::kBfloat16),
                         [](const auto& type) { return std::string(DataTypeName(type.param)); });

TEST_P(SmallFloats, ElementsAreComputedInFloat) {
  const Tensor x = Of({4}, {-2, 0.5, 1, 3});
  EXPECT_EQ(Run(MakeNode("Relu", {{"T", dtype_}}), {x}, {4}), (std::vector<float>{0, 0.5, 1, 3}));
  EXPECT_EQ(Run(MakeNode("Mul", {{"T", dtype_}}), {x, Of({}, {2})}, {4}), (std::vector<float>{-4, 1, 2, 6}));
  const Tensor less = RunOne(MakeNode("Less", {{"T", dtype_}}), {x, Of({}, {1})}, {4}, DataType::kBool);
  EXPECT_EQ(std::vector<bool>(less.data<bool>(), less.data<bool>() + 4),
            (std::vector<bool>{true, true, false, false}));
}

// 4096 ones: beyond what either type counts by ones (2048, 256), and exact in both.
TEST_P(SmallFloats, SumsAreRoundedOnce) {
  const Tensor axes = Tensor::FromValues<int32_t>(Shape{1}, {0});
  const Node sum = MakeNode("Sum", {{"T", dtype_}, {"Tidx", DataType::kInt32}, {"keep_dims", false}});
  EXPECT_EQ(Run(sum, {Of({4096}, std::vector<float>(4096, 1)), axes}, {}), (std::vector<float>{4096}));
}

// A result whose size only the kernel knows, and one that is not of 16 bits.
TEST_P(SmallFloats, OutputsMayBeUnplannedOrOfOtherTypes) {
  const Node softmax = MakeNode("Softmax", {{"T", dtype_}});
  const Tensor made = RunUnplanned(softmax, {Of({1, 2}, {3, 3})}, 64, dtype_);
  EXPECT_EQ(made.shape(), Shape({1, 2}));
  EXPECT_EQ(WidenedValues(made), (std::vector<float>{0.5, 0.5}));
  const Node largest =
      MakeNode("ArgMax", {{"T", dtype_}, {"Tidx", DataType::kInt32}, {"output_type", DataType::kInt64}});
  const Tensor axis = Tensor::FromValues<int32_t>(Shape{}, {0});
  EXPECT_EQ(RunOne(largest, {Of({3}, {1, 7, 2}), axis}, {}, DataType::kInt64).data<int64_t>()[0], 1);
}

// Each output pixel is the sum of a window of four.
TEST_P(SmallFloats, ConvolutionsAddInFloat) {
  const std::vector<int64_t> ones{1, 1, 1, 1};
  const Node node = MakeNode("Conv2D", {{"T", dtype_}, {"strides", ones}, {"padding", std::string("VALID")}});
  EXPECT_EQ(Run(node, {Of({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}), Of({2, 2, 1, 1}, {1, 1, 1, 1})}, {1, 1, 2, 1}),
            (std::vector<float>{12, 16}));
}

// Recorded from TensorFlow 2.15 (Cast with Truncate), by bits: the upper half, towards zero; no number stays
// none.
TEST(SmallFloatCast, TruncationDropsTheLowerHalf) {
  const std::vector<std::pair<uint32_t, uint16_t>> cases = {
      {0x3f800001, 0x3f80}, {0x3f80ffff, 0x3f80}, {0x3f808000, 0x3f80}, {0xbf80ffff, 0xbf80},
      {0x7f800001, 0x7fc0}, {0xff80ffff, 0xffc0}, {0x7fc00001, 0x7fc0}, {0x7f7fffff, 0x7f7f},
      {0x00000001, 0x0000}, {0x0000ffff, 0x0000}, {0x00010001, 0x0001}, {0x80008000, 0x8000},
      {0x7f800000, 0x7f80}};
  const Node node =
      MakeNode("Cast", {{"SrcT", DataType::kFloat}, {"DstT", DataType::kBfloat16}, {"Truncate", true}});
  std::vector<float> values;
  for (const auto& [bits, expected] : cases) values.push_back(std::bit_cast<float>(bits));
  const Shape shape{static_cast<Dim>(cases.size())};
  const Tensor cast = RunOne(node, {Tensor::FromValues(shape, values)}, shape, DataType::kBfloat16, 2);
  for (size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(static_cast<const uint16_t*>(cast.raw_data())[i], cases[i].second) << i;
}

}  // namespace
}  // namespace lanescope::exec::test
