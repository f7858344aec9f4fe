// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

#include <gtest/gtest.h>

namespace lanescope {
namespace {

TEST(Printable, ShowsWhatCommandsATerminal) {
  EXPECT_EQ(Printable("plain text, ~ and \\"), "plain text, ~ and \\");
  EXPECT_EQ(Printable(std::string_view("\0\x07\x1b[2J\x7f", 7)), "\\x00\\x07\\x1b[2J\\x7f");
  EXPECT_EQ(Printable("a\nb\tc\r"), "a\\nb\\tc\\x0d");
  // C1: the one-character CSI.
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(Printable("\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8"), "\\u202e\\u2066\\u061c\\u2028");
}

TEST(Printable, KeepsUtf8AndShowsWhatIsNone) {
  EXPECT_EQ(Printable("Größe µs 名前 \xf0\x9f\x98\x80"), "Größe µs 名前 \xf0\x9f\x98\x80");
  EXPECT_EQ(Printable("\x9b"), "\\x9b");
  EXPECT_EQ(Printable("a\xff"), "a\\xff");
  EXPECT_EQ(Printable("\xe2\x82"), "\\xe2\\x82");                    // cut off
  EXPECT_EQ(Printable("\xc0\x9b"), "\\xc0\\x9b");                    // overlong
  EXPECT_EQ(Printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");           // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond the last character
}

TEST(Printable, LinesKeepTheirBreaks) { EXPECT_EQ(PrintableLines("a\n\tb\x1b\r\n"), "a\n\tb\\x1b\\x0d\n"); }

TEST(Printable, OfWhatIsPrintableNothingChanges) {
  for (const char* text : {"a\nb", "\x1b[0m", "\xff\xe2\x80\xae", "\\x1b"}) {
    EXPECT_EQ(Printable(Printable(text)), Printable(text));
    EXPECT_EQ(PrintableLines(PrintableLines(text)), PrintableLines(text));
  }
}

TEST(Printable, JsonKeepsItsMeaning) {
  EXPECT_EQ(PrintableJson("{\n\t\"a\x7f\xc2\x85\xe2\x80\xae\": \"\xff\"\n}"),
            "{\n\t\"a\\u007f\\u0085\\u202e\": \"\xef\xbf\xbd\"\n}");
}

TEST(Printable, ColumnsAreCharacters) {
  EXPECT_EQ(ColumnsOf(""), 0u);
  EXPECT_EQ(ColumnsOf("µs"), 2u);
}

}  // namespace
}  // namespace lanescope
