// SPDX-License-Identifier: Apache-2.0
#include "core/base/protobuf_wire.h"

#include <gtest/gtest.h>

#include <string>

namespace lanescope {
namespace {

using namespace std::literals;

// Law: seven bits a byte, the lowest first (300 = 0b10'0101100); a number without a last byte is none.
TEST(ProtobufWire, NumbersTakeSevenBitsAByte) {
  const std::string bytes = "\xac\x02\x05"s;
  std::string_view left = bytes;
  EXPECT_EQ(TakeVarint(&left), 300u);
  EXPECT_EQ(TakeVarint(&left), 5u);
  EXPECT_EQ(TakeVarint(&left), std::nullopt);
  std::string_view endless = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv;
  EXPECT_EQ(TakeVarint(&endless), std::nullopt);
}

// Law: what is written is read, field by field, with its type.
TEST(ProtobufWire, AMessageIsReadAsItWasWritten) {
  const WireWriter message = WireWriter()
                                 .Signed(1, -1)
                                 .Fixed(2, 0x0102030405060708)
                                 .Fixed32(3, 0x01020304)
                                 .Nested(16, WireWriter().Bytes(1, "text"));
  WireReader reader(message.bytes());
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field(), 1);
  EXPECT_EQ(reader.type(), WireType::kVarint);
  EXPECT_EQ(reader.number(), ~uint64_t{0});
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.type(), WireType::kFixed64);
  EXPECT_EQ(reader.number(), 0x0102030405060708u);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.type(), WireType::kFixed32);
  EXPECT_EQ(reader.number(), 0x01020304u);
  EXPECT_EQ(reader.bytes(), "\x04\x03\x02\x01");
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field(), 16);
  EXPECT_EQ(reader.bytes(), "\x0a\x04text");
  EXPECT_FALSE(reader.Next());
  EXPECT_FALSE(reader.is_damaged());
}

// Law: a field that ends early, has no number, or is of a type that there is not, ends the walk as damage.
TEST(ProtobufWire, WhatIsNoFieldIsDamage) {
  for (const std::string_view bytes :
       {"\x0a\x05text"sv, "\x08"sv, "\x0d\x01\x02"sv, "\x02\x00"sv, "\x0b"sv, "\x80"sv}) {
    WireReader reader(bytes);
    EXPECT_FALSE(reader.Next());
    EXPECT_TRUE(reader.is_damaged());
    EXPECT_FALSE(reader.Next());
  }
}

}  // namespace
}  // namespace lanescope
