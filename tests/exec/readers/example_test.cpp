// SPDX-License-Identifier: Apache-2.0
// Records that are tf.train.Example messages. What TensorFlow makes of them is recorded in
// tests/golden/ops/examples.json.gz; here stand its messages, and what no message is.
#include "exec/readers/example.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/base/error.h"
#include "tests/core/base/expect_error.h"

namespace lanescope::exec {
namespace {

std::string Field(int number, const std::string& bytes) {
  EXPECT_LT(bytes.size(), 128u);
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}

std::string FloatsList(const std::vector<float>& values) {
  std::string packed(values.size() * 4, '\0');
  std::memcpy(packed.data(), values.data(), packed.size());
  return Field(2, Field(1, packed));
}
std::string IntsList(const std::vector<int>& values) {
  std::string packed;
  for (const int value : values) packed += static_cast<char>(value);  // below 128
  return Field(3, Field(1, packed));
}

// An Example of one feature.
std::string ExampleOf(const std::string& key, const std::string& list) {
  return Field(1, Field(1, Field(1, key) + Field(2, list)));
}

Tensor NoDefault() { return Tensor(DataType::kFloat, Shape{0}); }
ExampleFeatures Dense(const Shape& shape, Tensor fill = NoDefault()) {
  ExampleFeatures features;
  features.dense = {{"x", shape, std::move(fill)}};
  return features;
}

std::string ErrorOfParsing(const std::vector<std::string>& records, const ExampleFeatures& features,
                           const std::vector<std::string>& names = {}) {
  return ErrorOf([&] {
    CheckFeatures(features);
    ParseExamples(records, names, features);
  });
}

const std::string kGood = ExampleOf("x", FloatsList({1, 2}));

TEST(Examples, AreParsedToColumns) {
  const ParsedExamples parsed =
      ParseExamples(std::vector{kGood, ExampleOf("x", FloatsList({3, 4}))}, {}, Dense(Shape{2}));
  ASSERT_EQ(parsed.dense.size(), 1u);
  EXPECT_EQ(parsed.dense[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(parsed.dense[0].data<float>()[3], 4);
}

TEST(Examples, WhatDoesNotFitIsNamedAsTensorFlowDoes) {
  const std::string empty;
  EXPECT_EQ(ErrorOfParsing({kGood, empty}, Dense(Shape{2}), {"n0", "n1"}),
            "InvalidArgument: Name: n1, Feature: x (data type: float) is required but could not be found.");
  EXPECT_EQ(
      ErrorOfParsing({empty}, Dense(Shape{2})),
      "InvalidArgument: Name: <unknown>, Feature: x (data type: float) is required but could not be found.");
  EXPECT_EQ(
      ErrorOfParsing({kGood, ExampleOf("x", IntsList({1, 2}))}, Dense(Shape{2})),
      "InvalidArgument: Name: <unknown>, Key: x, Index: 1.  Data types don't match. Data type: int64 but "
      "expected type: float");
  EXPECT_EQ(
      ErrorOfParsing({kGood, ExampleOf("x", FloatsList({1}))}, Dense(Shape{2})),
      "InvalidArgument: Name: <unknown>, Key: x, Index: 1.  Number of float values != expected.  Values "
      "size: 1 but output shape: [2]");
  const Tensor pad = Tensor::Scalar(0.0f);
  EXPECT_EQ(
      ErrorOfParsing({ExampleOf("x", FloatsList({1, 2, 3}))}, Dense(Shape{kUnknownDim, 2}, pad))
          .substr(0, 129),
      "InvalidArgument: Name: <unknown>, Key: x, Index: 0.  Number of float values is not a multiple of "
      "stride length. Saw 3 values but ");
  ExampleFeatures sparse;
  sparse.sparse = {{"x", DataType::kInt64}};
  EXPECT_EQ(
      ErrorOfParsing({kGood}, sparse),
      "InvalidArgument: Name: <unknown>, Key: x, Index: 0.  Data types don't match. Expected type: int64, "
      "Actual type: float");
  EXPECT_EQ(ErrorOfParsing({"garbage"}, sparse),
            "InvalidArgument: Could not parse example input, value: 'garbage'");
  EXPECT_EQ(ErrorOf([&] { ParseExample("", Dense(Shape{2})); }),
            "InvalidArgument: Feature: x (data type: float) is required but could not be found.");
  EXPECT_EQ(ErrorOf([&] { ParseExample(ExampleOf("x", FloatsList({1})), Dense(Shape{2})); }),
            "InvalidArgument: Key: x.  Can't parse serialized Example.");
}

TEST(Examples, DefaultsFitTheirFeatures) {
  EXPECT_EQ(ErrorOfParsing({kGood}, Dense(Shape{2}, Tensor::Scalar(1.0f))),
            "InvalidArgument: def_value[0].shape() == [] is not compatible with dense_shapes_[0] == [2]");
  EXPECT_EQ(ErrorOfParsing({kGood}, Dense(Shape{kUnknownDim})).substr(0, 118),
            "InvalidArgument: dense_shape[0] is a variable length shape: [?], therefore def_value[0] must "
            "contain a "
            "single element ");
  EXPECT_NE(ErrorOfParsing({kGood}, Dense(Shape{2, kUnknownDim})), "");
  EXPECT_NE(ErrorOfParsing({kGood}, Dense(Shape{2}, Tensor(DataType::kInt32, Shape{0}))), "");
}

// Law: whatever bytes change, a record is parsed or refused.
TEST(Examples, DamagedRecordsAreParsedOrRefused) {
  ExampleFeatures features;
  features.sparse = {{"x", DataType::kFloat}, {"y", DataType::kString}};
  features.ragged = {{{"z", DataType::kInt64}, DataType::kInt32}};
  const std::string good =
      kGood + ExampleOf("y", Field(1, Field(1, "text"))) + ExampleOf("z", IntsList({1, 2, 3}));
  std::mt19937 random(7);
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string record = good.substr(0, good.size() - random() % 8);
    for (unsigned change = random() % 4; change-- > 0;)
      record[random() % record.size()] = static_cast<char>(random());
    const std::string error = ErrorOfParsing({record}, features);
    EXPECT_TRUE(error.empty() || error.starts_with("InvalidArgument: ")) << error;
    parsed += error.empty() ? 1 : 0;
  }
  EXPECT_GT(parsed, 1000);
}

}  // namespace
}  // namespace lanescope::exec
