// SPDX-License-Identifier: Apache-2.0
// Lines, fixed lengths, whole files and names (cases L01 to L09); expected values are TensorFlow 2.15.1's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/readers/reader.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/readers/record_files.h"

namespace lanescope::exec {
namespace {

using testing::ElementsAre;

class ReadersTest : public RecordFiles {};

TEST_F(ReadersTest, L01LinesAreCountedByFile) {
  const std::string a = File("a", "0: 1\n0: 2\n"), b = File("b", "1: 1\n1: 2\n");
  Reader reader(TextLines(0));
  EXPECT_THAT(ReadAll(&reader, {a, b}), ElementsAre("a:1=0: 1", "a:2=0: 2", "b:1=1: 1", "b:2=1: 2"));
  EXPECT_EQ(reader.records_produced(), 4);
  EXPECT_EQ(reader.work_units_completed(), 2);
}

TEST_F(ReadersTest, LinesEndWithLfCrlfOrTheFile) {
  EXPECT_THAT(ReadAll(TextLines(0), {File("a", "ab\r\nc\rd\n\nlast"), File("b", ""), File("c", "x\n")}),
              ElementsAre("a:1=ab", "a:2=c\rd", "a:3=", "a:4=last", "c:1=x"));
}

TEST_F(ReadersTest, ALineMayBeLongerThanABuffer) {
  const std::string line(1'000'000, 'x');
  EXPECT_THAT(ReadAll(TextLines(0), {File("a", line + "\r\n" + line)}),
              ElementsAre("a:1=" + line, "a:2=" + line));
}

TEST_F(ReadersTest, L03HeaderLinesAreCountedNotRead) {
  Reader reader(TextLines(2));
  EXPECT_THAT(ReadAll(&reader, {File("d", "a\nb\nc\n"), File("e", "a\n"), File("a", "1\n2\n\nlast")}),
              ElementsAre("d:3=c", "a:3=", "a:4=last"));
  EXPECT_EQ(reader.work_units_completed(), 3);
}

TEST_F(ReadersTest, WhatCannotBeOpenedLeavesTheReaderUsable) {
  Reader reader(TextLines(0));
  EXPECT_THAT(
      ReadAll(&reader, {Path("none"), Path("."), File("c", "x\n")}),
      ElementsAre("NotFound: none; No such file or directory", testing::HasSubstr("is a folder"), "c:1=x"));
  EXPECT_EQ(reader.records_produced(), 1);
  EXPECT_EQ(reader.work_units_completed(), 1);
}

TEST_F(ReadersTest, L05NamesAreRecords) {
  Reader reader(Identity());
  int64_t expected = 0;
  for (const char* name : {"A", "B", "C"}) {
    reader.StartWork(name);
    Record record;
    ASSERT_TRUE(reader.Next(&record));
    EXPECT_EQ(record.key + record.value, std::string(name) + name);
    EXPECT_FALSE(reader.Next(&record));
    EXPECT_EQ(reader.records_produced(), ++expected);
    EXPECT_EQ(reader.work_units_completed(), expected);
  }
  reader.Reset();
  EXPECT_EQ(reader.records_produced() + reader.work_units_completed(), 0);
}

TEST_F(ReadersTest, L07FilesAreRecords) {
  EXPECT_THAT(ReadAll(WholeFiles(), {File("c", "x\n"), File("b", "")}), ElementsAre("c=x\n", "b="));
}

TEST_F(ReadersTest, RecordsOfFixedLengthStandBetweenHeaderAndFooter) {
  FixedLength layout{.header_bytes = 5, .record_bytes = 3, .footer_bytes = 2};
  Reader reader(FixedLengthRecords(layout));
  EXPECT_THAT(
      ReadAll(&reader, {File("f", "HHHHHaaabbbcccFF"), File("g", "HHHHHaaabFF"), File("h", "HH"), Path("f")}),
      ElementsAre("f:0=aaa", "f:1=bbb", "f:2=ccc", "g:0=aaa", "OutOfRange: reached end of file", "f:0=aaa",
                  "f:1=bbb", "f:2=ccc"));
  EXPECT_EQ(reader.records_produced(), 7);
  EXPECT_EQ(reader.work_units_completed(), 4);
}

TEST_F(ReadersTest, L09RecordsOverlapWhereTheHopIsShorter) {
  FixedLength layout{.header_bytes = 5, .record_bytes = 4, .hop_bytes = 2};
  EXPECT_THAT(ReadAll(FixedLengthRecords(layout), {File("i", "HHHHHabcdefgh")}),
              ElementsAre("i:0=abcd", "i:1=cdef", "i:2=efgh"));
  layout = {.record_bytes = 2, .hop_bytes = 5};
  EXPECT_THAT(ReadAll(FixedLengthRecords(layout), {File("j", "ab...cd..")}), ElementsAre("j:0=ab", "j:1=cd"));
}

TEST_F(ReadersTest, RecordsOfFixedLengthMayBeCompressed) {
  FixedLength layout{.record_bytes = 3, .footer_bytes = 1, .compression = Compression::kZlib};
  EXPECT_THAT(ReadAll(FixedLengthRecords(layout), {File("z", Packed("aaabbbF", Compression::kZlib))}),
              ElementsAre("z:0=aaa", "z:1=bbb"));
}

TEST_F(ReadersTest, SizesThatCannotBeAreRefused) {
  EXPECT_NE(ErrorOf([] { FixedLengthRecords({}); }), "");
  EXPECT_NE(ErrorOf([] { FixedLengthRecords({.header_bytes = -1, .record_bytes = 1}); }), "");
  EXPECT_NE(ErrorOf([] { FixedLengthRecords({.record_bytes = INT64_MAX}); }), "");
  EXPECT_EQ(ErrorOf([] { ParseCompression("LZ"); }),
            "InvalidArgument: Unsupported compression_type: LZ; it is one of \"\", ZLIB and GZIP");
  // A record far larger than the file takes no memory.
  EXPECT_THAT(ReadAll(FixedLengthRecords({.record_bytes = int64_t{1} << 40}), {File("f", "abc")}),
              ElementsAre());
}

}  // namespace
}  // namespace lanescope::exec
