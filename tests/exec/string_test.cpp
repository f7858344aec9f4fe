// SPDX-License-Identifier: Apache-2.0
// Text conversions and lookup tables.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "exec/kernels/lookup_table.h"
#include "tests/exec/kernel_harness.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::test {
namespace {

std::string Text(const Tensor& scalar, AttrMap attrs = {}) {
  attrs["T"] = scalar.dtype();
  return RunKernel(MakeNode("AsString", attrs), {scalar}, {{DataType::kString, {}}})[0]
      .data<std::string>()[0];
}

TEST(AsString, FormatsLikePrintf) {
  EXPECT_EQ(Text(Tensor::Scalar<int32_t>(-42)), "-42");
  EXPECT_EQ(Text(Tensor::Scalar<int64_t>(7), {{"width", IntAttr(3)}, {"fill", StringAttr("0")}}), "007");
  EXPECT_EQ(Text(Tensor::Scalar<int64_t>(7), {{"width", IntAttr(3)}}), "  7");
  EXPECT_EQ(Text(Tensor::Scalar(true)), "true");
  EXPECT_EQ(Text(Tensor::Scalar(1.5f)), "1.500000");
  EXPECT_EQ(Text(Tensor::Scalar(1.5), {{"precision", IntAttr(1)}}), "1.5");
  EXPECT_EQ(Text(Tensor::Scalar(1500.0f), {{"scientific", true}}), "1.500000e+03");
  EXPECT_EQ(Text(Tensor::Scalar(1500.0f), {{"shortest", true}}), "1500");
  EXPECT_EQ(Text(Tensor::Scalar(0.5), {{"width", IntAttr(100)}}), std::string(92, ' ') + "0.500000");
}

TEST(AsString, RefusesBadAttributes) {
  ExpectError(Code::kInvalidArgument, "Cannot select both scientific and shortest notation", [] {
    Text(Tensor::Scalar(1.0f), {{"scientific", true}, {"shortest", true}});
  });
  ExpectError(Code::kInvalidArgument, "precision not supported for datatype int32", [] {
    Text(Tensor::Scalar<int32_t>(1), {{"precision", IntAttr(2)}});
  });
  ExpectError(Code::kInvalidArgument, "Fill argument not supported", [] {
    Text(Tensor::Scalar<int32_t>(1), {{"fill", StringAttr("x")}});
  });
  ExpectError(Code::kInvalidArgument, "one or fewer characters", [] {
    Text(Tensor::Scalar<int32_t>(1), {{"fill", StringAttr("%s")}});
  });
}

Tensor Number(const std::string& text, DataType dtype) {
  return RunKernel(MakeNode("StringToNumber"), {Strings({}, {text})}, {{dtype, {}}})[0];
}

TEST(StringToNumber, ReadsWholeTexts) {
  EXPECT_EQ(Number(" -1.5e2 ", DataType::kFloat).data<float>()[0], -150.0f);
  EXPECT_EQ(Number("+7", DataType::kDouble).data<double>()[0], 7);
  EXPECT_EQ(Number("1e999", DataType::kDouble).data<double>()[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(Number("-9223372036854775808", DataType::kInt64).data<int64_t>()[0],
            std::numeric_limits<int64_t>::min());
  for (const char* text : {"", "+7", "abc", "1x", "+-1", "99999999999"}) {
    ExpectError(Code::kInvalidArgument,
                std::string("StringToNumberOp could not correctly convert string: ") + text,
                [&] { Number(text, DataType::kInt32); });
  }
}

TEST(StringJoin, BroadcastsScalars) {
  const Node node = MakeNode("StringJoin", {{"separator", StringAttr("-")}});
  const Tensor joined =
      RunKernel(node, {Strings({2}, {"a", "b"}), Strings({}, {"z"})}, {{DataType::kString, {2}}})[0];
  EXPECT_EQ(ListOf<std::string>(joined), (std::vector<std::string>{"a-z", "b-z"}));
  ExpectError(Code::kInvalidArgument, "Input shapes do not match", [&] {
    RunKernel(node, {Strings({2}, {"a", "b"}), Strings({1}, {"z"})}, {{DataType::kString, {2}}});
  });
}

std::string HexOf(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return hex;
}

// Bytes that TensorFlow 2.15 gives.
TEST(HistogramSummary, IsTensorFlowsByteForByte) {
  const Node node = MakeNode("HistogramSummary");
  const auto summary = [&](const Tensor& values) {
    return RunKernel(node, {Strings({}, {"h"}), values}, {{DataType::kString, {}}})[0].data<std::string>()[0];
  };
  EXPECT_EQ(HexOf(summary(Tensor::FromValues<float>({6}, {1, 2, 2, -3, 0, 1e30f}))),
            "0ad7010a01682ad1010900000000000008c01100000040593e29461900000000000018402100000040593e2946"
            "2980ecd0eee4e9634c32500d9cc5a0295509c068bc10359a0707c0000000000000000011ea2d819997713d0899"
            "6919155aed3f2b14facdbe24f03fdc94cd2e8d75ff3fe011f10c744d01404c549f0223831544ffffffffffffef"
            "7f3a500000000000000000000000000000f03f0000000000000000000000000000f03f00000000000000000000"
            "00000000f03f000000000000000000000000000000400000000000000000000000000000f03f");
  EXPECT_EQ(HexOf(summary(Tensor::FromValues<float>({0}, {}))),
            "0a2b0a01682a2609ffffffffffffef7f11ffffffffffffefff3208ffffffffffffef7f3a080000000000000000");
  ExpectError(Code::kInvalidArgument, "Nan in summary histogram for: ", [&] {
    summary(Tensor::FromValues<float>({1}, {std::nanf("")}));
  });
}

Tensor Find(const LookupTable& table, Tensor keys, Tensor fallback, int workers = 1) {
  Tensor values(fallback.dtype(), keys.shape());
  TestTeam team(workers);
  table.Find(RefTo(keys), RefTo(fallback), RefTo(values), team);
  return values;
}

void Initialize(LookupTable& table, Tensor keys, Tensor values) {
  table.Initialize(RefTo(keys), RefTo(values));
}

TEST(LookupTable, FindsWhatWasPutIn) {
  const auto table = MakeLookupTable(DataType::kString, DataType::kInt64);
  std::vector<std::string> words;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < 90000; ++i) {
    words.push_back(std::string(static_cast<size_t>(i % 23), 'x') + std::to_string(i));
    numbers.push_back(i * i);
  }
  const Tensor keys = Strings({90000}, words);
  Initialize(*table, keys, Longs(numbers));
  EXPECT_EQ(table->size(), 90000);
  for (const int workers : {1, 3}) {
    EXPECT_EQ(ListOf<int64_t>(Find(*table, keys, Tensor::Scalar<int64_t>(-1), workers)), numbers);
  }
  EXPECT_EQ(ListOf<int64_t>(Find(*table, Strings({3}, {"", "90000", "1"}), Tensor::Scalar<int64_t>(-1))),
            (std::vector<int64_t>{-1, -1, -1}));
}

TEST(LookupTable, OtherTypes) {
  const auto names = MakeLookupTable(DataType::kInt64, DataType::kString);
  Initialize(*names, Longs({5, -5}), Strings({2}, {"five", "minus five"}));
  EXPECT_EQ(ListOf<std::string>(Find(*names, Longs({-5, 0, 5}), Strings({}, {"?"}))),
            (std::vector<std::string>{"minus five", "?", "five"}));
  const auto weights = MakeLookupTable(DataType::kInt64, DataType::kFloat);
  Initialize(*weights, Longs({}), Counting({0}));
  EXPECT_EQ(ListOf<float>(Find(*weights, Longs({1}), Tensor::Scalar(0.5f))), std::vector<float>{0.5f});
  ExpectError(Code::kUnimplemented, "no lookup table from float to int64",
              [] { MakeLookupTable(DataType::kFloat, DataType::kInt64); });
}

TEST(LookupTable, IsFilledOnce) {
  const auto table = MakeLookupTable(DataType::kString, DataType::kInt64);
  ExpectError(Code::kFailedPrecondition,
              "HashTable has different value for same key. Key a has 1 and trying to add value 2", [&] {
                Initialize(*table, Strings({2}, {"a", "a"}), Longs({1, 2}));
              });
  EXPECT_FALSE(table->initialized());
  Initialize(*table, Strings({2}, {"a", "b"}), Longs({1, 2}));
  Initialize(*table, Strings({2}, {"b", "a"}), Longs({2, 1}));
  ExpectError(Code::kFailedPrecondition, "already initialized with different data",
              [&] { Initialize(*table, Strings({1}, {"a"}), Longs({3})); });
  ExpectError(Code::kInvalidArgument, "Number of elements of keys and values must match", [&] {
    Initialize(*MakeLookupTable(DataType::kString, DataType::kInt64), Strings({1}, {"a"}), Longs({}));
  });
}

TEST(LookupTable, MustBeInitializedBeforeUse) {
  ExpectError(Code::kFailedPrecondition, "Table not initialized", [] {
    RunKernel(MakeNode("LookupTableFindV2"), {Tensor(), Strings({}, {"a"}), Tensor::Scalar<int64_t>(0)},
              {{DataType::kInt64, {}}});
  });
}

}  // namespace
}  // namespace lanescope::exec::test
