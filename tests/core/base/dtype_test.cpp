// SPDX-License-Identifier: Apache-2.0
#include "core/base/dtype.h"

#include <gtest/gtest.h>

namespace lanescope {
namespace {

TEST(Dtype, ElementSizesAreThoseOfTensorFlow) {
  EXPECT_EQ(ElementSize(DataType::kFloat), 4u);
  EXPECT_EQ(ElementSize(DataType::kComplex128), 16u);
  EXPECT_EQ(ElementSize(DataType::kBfloat16), 2u);
  EXPECT_EQ(ElementSize(DataType::kBool), 1u);
  EXPECT_EQ(ElementSize(MakeRef(DataType::kDouble)), 8u);
  for (DataType handle : {DataType::kString, DataType::kResource, DataType::kVariant, DataType::kInvalid}) {
    EXPECT_EQ(ElementSize(handle), 0u);
  }
}

TEST(Dtype, NamesReadBackAsTheSameType) {
  for (int32_t number = 1; number <= 23; ++number) {
    const auto type = static_cast<DataType>(number);
    EXPECT_EQ(ParseDataType(DataTypeName(type)), type) << number;
    EXPECT_EQ(ParseDataType(NumpyName(type)), type) << number;
    EXPECT_EQ(ParseDataType(DataTypeName(MakeRef(type))), MakeRef(type)) << number;
  }
}

TEST(Dtype, EveryAcceptedSpelling) {
  EXPECT_EQ(ParseDataType("float"), DataType::kFloat);
  EXPECT_EQ(ParseDataType("float32"), DataType::kFloat);
  EXPECT_EQ(ParseDataType("DT_FLOAT"), DataType::kFloat);
  EXPECT_EQ(ParseDataType("float_ref"), MakeRef(DataType::kFloat));
  EXPECT_EQ(ParseDataType("DT_FLOAT_REF"), MakeRef(DataType::kFloat));
  EXPECT_EQ(ParseDataType("float64"), DataType::kDouble);
  EXPECT_EQ(ParseDataType("float16"), DataType::kHalf);
  EXPECT_EQ(ParseDataType("int"), DataType::kInt32);
}

TEST(Dtype, OtherSpellingsAreInvalid) {
  for (const char* name : {"", "Float", "dt_float", "DT_", "float33", "_ref", "float_ref_ref", "DT_float"}) {
    EXPECT_EQ(ParseDataType(name), DataType::kInvalid) << name;
  }
}

TEST(Dtype, UnknownNumbersKeepTheirNumberInTheName) {
  EXPECT_EQ(DataTypeName(static_cast<DataType>(77)), "unknown(77)");
  EXPECT_EQ(DataTypeName(DataType::kInvalid), "invalid");
  EXPECT_EQ(DataTypeName(MakeRef(DataType::kFloat)), "float_ref");
  EXPECT_EQ(NumpyName(DataType::kFloat), "float32");
}

}  // namespace
}  // namespace lanescope
