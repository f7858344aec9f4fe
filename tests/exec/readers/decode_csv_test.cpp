// SPDX-License-Identifier: Apache-2.0
// Lines as columns (cases L11 to L23); expected values and messages are TensorFlow 2.15.1's.
#include "exec/readers/decode_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "exec/readers/decode_raw.h"
#include "tests/core/base/expect_error.h"

namespace lanescope::exec {
namespace {

Tensor Lines(const std::vector<std::string>& lines) {
  return Tensor::FromValues(Shape{static_cast<int64_t>(lines.size())}, lines);
}

template <typename T>
std::string Joined(const Tensor& tensor) {
  std::string text;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) text += fmt::format("{}|", tensor.data<T>()[i]);
  return text;
}

// All columns as texts, or the error.
std::string Decoded(const std::vector<std::string>& lines, const CsvColumns& columns) {
  std::string text;
  const std::string error = ErrorOf([&] {
    for (const Tensor& column : DecodeCsv(Lines(lines), columns)) {
      switch (column.dtype()) {
        case DataType::kInt32:
          text += Joined<int32_t>(column);
          break;
        case DataType::kInt64:
          text += Joined<int64_t>(column);
          break;
        case DataType::kFloat:
          text += Joined<float>(column);
          break;
        case DataType::kDouble:
          text += Joined<double>(column);
          break;
        default:
          text += Joined<std::string>(column);
      }
      text += " ";
    }
  });
  if (text.ends_with(' ')) text.pop_back();
  return error.empty() ? text : error;
}
std::string Decoded(const std::vector<std::string>& lines, const std::vector<Tensor>& defaults) {
  CsvColumns columns;
  columns.defaults = defaults;
  return Decoded(lines, columns);
}

const Tensor kInt = Tensor::Scalar<int32_t>(3);
const Tensor kFloat = Tensor::Scalar(1.5f);
const Tensor kText = Tensor::Scalar<std::string>("d");
const Tensor kRequired = Tensor(DataType::kInt32, Shape{0});

TEST(DecodeCsvTest, L11NumbersAreParsed) {
  EXPECT_EQ(Decoded({"1", "2", "3"}, {kInt}), "1|2|3|");
  EXPECT_EQ(Decoded({" 5. , 0"}, {kFloat, kInt}), "5| 0|");
  EXPECT_EQ(Decoded({"1.,,44"}, {Tensor::Scalar(5.f), Tensor::Scalar<int32_t>(6), kInt}),
            "1| 6| 44|");  // L23
  EXPECT_EQ(Decoded({"1e400,nan,0x10,inf"}, {kFloat, kFloat, kFloat, kFloat}), "inf| nan| 16| inf|");
  EXPECT_EQ(Decoded({"-9223372036854775808,0.1"}, {Tensor::Scalar<int64_t>(0), Tensor::Scalar(0.0)}),
            "-9223372036854775808| 0.1|");
}

TEST(DecodeCsvTest, WhatIsNoNumberIsNamed) {
  EXPECT_EQ(Decoded({"8,1", "5,234a"}, {kInt, kInt}),
            "InvalidArgument: Field 1 in record 1 is not a valid int32: 234a");
  for (const char* text : {"99999999999", "+5", "0x10", "5 5", "1e3", "5."}) {
    EXPECT_EQ(Decoded({text}, {kInt}),
              std::string("InvalidArgument: Field 0 in record 0 is not a valid int32: ") + text);
  }
  EXPECT_EQ(Decoded({"1,x"}, {kInt, kFloat}), "InvalidArgument: Field 1 in record 0 is not a valid float: x");
  EXPECT_EQ(Decoded({std::string("1\0", 2)}, {kFloat}).find("InvalidArgument"), 0u);
  EXPECT_EQ(Decoded({"9223372036854775808"}, {Tensor::Scalar<int64_t>(0)}),
            "InvalidArgument: Field 0 in record 0 is not a valid int64: 9223372036854775808");
}

TEST(DecodeCsvTest, EmptyFieldsAreTheirDefaultsOrMissing) {
  EXPECT_EQ(Decoded({"1,2,"}, {kInt, kInt, Tensor::Scalar<int32_t>(7)}), "1| 2| 7|");
  EXPECT_EQ(Decoded({"\"\",\"\""}, {kInt, kText}), "3| d|");
  EXPECT_EQ(Decoded({"1,1", "1,1", "1,"}, {kInt, kRequired}),
            "InvalidArgument: Field 1 is required but missing in record 2!");  // L13
  CsvColumns columns;
  columns.defaults = {kInt, kText};
  columns.na_value = "NA";
  EXPECT_EQ(Decoded({"NA,NA"}, columns), "3| d|");
}

TEST(DecodeCsvTest, L15LinesHaveAsManyFieldsAsColumns) {
  EXPECT_EQ(Decoded({"1,2"}, {kInt}), "InvalidArgument: Expect 1 fields but have 2 in record 0");
  EXPECT_EQ(Decoded({"1", "", "3"}, {kInt}), "InvalidArgument: Expect 1 fields but have 0 in record 1");
  EXPECT_EQ(Decoded({"a,\r\n"}, {kText, kText}), "InvalidArgument: Expect 2 fields but have 1 in record 0");
  EXPECT_EQ(Decoded({"\n"}, {kText}), "InvalidArgument: Expect 1 fields but have 0 in record 0");
}

TEST(DecodeCsvTest, L17L19QuotesKeepWhatTheyEnclose) {
  EXPECT_EQ(Decoded({"\"a\"\"b\""}, {kText}), "a\"b|");
  EXPECT_EQ(Decoded({"1,\"a\nb, c\""}, {kInt, kText}), "1| a\nb, c|");
  EXPECT_EQ(Decoded({"\"a\"\"\",\"\"\"b\",c"}, {kText, kText, kText}), "a\"| \"b| c|");
  EXPECT_EQ(Decoded({"\"a\","}, {kText, kText}), "a| d|");
  EXPECT_EQ(Decoded({" x "}, {kText}), " x |");
  const std::string unescaped = "InvalidArgument: Quote inside a string has to be escaped by another quote";
  EXPECT_EQ(Decoded({"\"a\"b\""}, {kText}), unescaped);
  EXPECT_EQ(Decoded({"\"a\"\n"}, {kText}), unescaped);
  for (const char* line : {"\"ab", "\"", "\"a\"\"", "\"a,b"}) {
    EXPECT_EQ(Decoded({line}, {kText}),
              "InvalidArgument: Quoted field has to end with quote followed by delim or end");
  }
}

TEST(DecodeCsvTest, UnquotedFieldsHaveNeitherQuotesNorLineBreaks) {
  for (const char* line : {"a\"b", "a\rb", "1\n", " \"a\""}) {
    EXPECT_EQ(Decoded({line}, {kText}), "InvalidArgument: Unquoted fields cannot have quotes/CRLFs inside");
  }
  EXPECT_EQ(Decoded({"\r\n1,\n2"}, {kInt, kInt}), "1| 2|");
  CsvColumns columns;
  columns.syntax.use_quotes = false;
  columns.defaults = {kText, kText};
  EXPECT_EQ(Decoded({"a\"b,c"}, columns), "a\"b| c|");
}

TEST(DecodeCsvTest, L21TheDelimiterIsOneCharacter) {
  CsvColumns columns;
  columns.syntax.delimiter = ParseDelimiter("\t");
  columns.defaults = {kInt, kInt};
  EXPECT_EQ(Decoded({"1\t2"}, columns), "1| 2|");
  for (const char* text : {"", "ab"}) {
    EXPECT_EQ(ErrorOf([&] { ParseDelimiter(text); }), "InvalidArgument: field_delim should be only 1 char");
  }
}

TEST(DecodeCsvTest, ColumnsAreSelectedByNumber) {
  CsvColumns columns;
  columns.defaults = {kInt, kInt};
  columns.select = {0, 2};
  EXPECT_EQ(Decoded({"1,x,3", "4,,,\"broken"}, columns), "1|4| 3|3|");
  EXPECT_EQ(Decoded({"1,x"}, columns), "InvalidArgument: Expect 2 fields but have 1 in record 0");
  columns.select = {2, 0};
  EXPECT_NE(ErrorOf([&] { DecodeCsv(Lines({"1,2,3"}), columns); }), "");
  columns.select = {0};
  EXPECT_NE(ErrorOf([&] { DecodeCsv(Lines({"1,2,3"}), columns); }), "");
}

TEST(DecodeCsvTest, ColumnsHaveOneDefaultOfATypeThatCsvHas) {
  EXPECT_EQ(Decoded({"1"}, {Tensor(DataType::kInt32, Shape{2})}),
            "InvalidArgument: There should only be 1 default per field but field 0 has 2");
  EXPECT_NE(ErrorOf([&] {
              DecodeCsv(Lines({"1"}), CsvColumns{.syntax = {},
                                                 .na_value = "",
                                                 .defaults = {Tensor(DataType::kBool, Shape{})},
                                                 .select = {}});
            }),
            "");
}

std::string Shorts(const Tensor& tensor) {
  const auto* numbers = static_cast<const int16_t*>(tensor.raw_data());
  std::string text;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) text += fmt::format("{}|", numbers[i]);
  return text;
}

TEST(DecodeRawTest, BytesAreNumbers) {
  const Tensor little = DecodeRaw(Lines({"abcd", "efgh"}), DataType::kInt16, true);
  EXPECT_EQ(little.shape(), (Shape{2, 2}));
  EXPECT_EQ(Shorts(little), "25185|25699|26213|26727|");
  EXPECT_EQ(Shorts(DecodeRaw(Lines({"ab"}), DataType::kInt16, false)), "24930|");
  EXPECT_EQ(DecodeRaw(Lines({""}), DataType::kInt16, true).shape(), (Shape{1, 0}));
  EXPECT_EQ(DecodeRaw(Lines({}), DataType::kInt16, true).shape(), (Shape{0, 0}));
  EXPECT_EQ(
      ErrorOf([] { DecodeRaw(Lines({"abc"}), DataType::kInt16, true); }),
      "InvalidArgument: Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16");
  EXPECT_EQ(ErrorOf([] {
              DecodeRaw(Lines({"abcd", "ab"}), DataType::kInt16, true);
            }),
            "InvalidArgument: DecodeRaw requires input strings to all be the same size, but element 1 has "
            "size 2 != 4");
  EXPECT_NE(ErrorOf([] { DecodeRaw(Lines({"abcd"}), DataType::kString, true); }), "");
}

}  // namespace
}  // namespace lanescope::exec
