// SPDX-License-Identifier: Apache-2.0
#include "core/base/text_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/units.h"

namespace lanescope {
namespace {

TEST(TextTable, NumbersEndWhereTheirUnitsBegin) {
  TextTable table;
  table.Text("Device").Number("Time").Number("Bytes").Number("Share");
  table.Row({"GPU:0", "12.43 ms", "4GiB", "5.0%"});
  table.Row({"CPU:0", "999 ns", "1.5B", "100.0%"});
  table.Row({"x", "-", "unlimited", "-"});
  EXPECT_EQ(table.Take(80),
            "Device      Time      Bytes   Share\n"
            "GPU:0   12.43 ms      4 GiB    5.0%\n"
            "CPU:0     999 ns    1.5 B    100.0%\n"
            "x           -     unlimited      -\n");
}

TEST(TextTable, NamesGiveWayInTheirMiddle) {
  const auto make = [] {
    TextTable table;
    table.Name("Op").Number("Time").Name("Where");
    table.Row({"gradients/tower_0/conv1/Conv2DBackpropFilter", "1 us", "a/short/one"});
    return table;
  };
  EXPECT_EQ(make().Take(40),
            "Op                     Time  Where\n"
            "gradients...ropFilter  1 us  a/short/one\n");
  EXPECT_EQ(make().Take(0),
            "Op                                            Time  Where\n"
            "gradients/tower_0/conv1/Conv2DBackpropFilter  1 us  a/short/one\n");
  // A name keeps twelve characters, whatever the width.
  EXPECT_EQ(make().Take(10),
            "Op            Time  Where\n"
            "gradi...lter  1 us  a/short/one\n");
}

TEST(TextTable, GroupsStandAboveTheirColumns) {
  TextTable table;
  table.Name("Row").Group("Between devices").Number("count").Number("time").Group("").Number("Speed");
  table.Row({"a", "19", "2.522 ms", "1.000x"});
  EXPECT_EQ(table.Take(80),
            "     Between devices\n"
            "Row  count      time   Speed\n"
            "a       19  2.522 ms  1.000x\n");
}

TEST(TextTable, LaterRowsKeepTheColumns) {
  TextTable table;
  table.Text("a").Number("b");
  table.Row({"x", "1"});
  EXPECT_EQ(table.Take(80), "a  b\nx  1\n");
  EXPECT_TRUE(table.empty());
  table.Row({"y", "23"});
  table.Row({"z"});
  EXPECT_EQ(table.Take(80), "y  23\nz\n");
}

TEST(TextTable, CellsAreOneLineAndPrintable) {
  TextTable table;
  table.Name("a\n").Text("b");
  table.Row({"x\x1b[31m\ny", "c"});
  EXPECT_EQ(table.Take(0), "a\\n           b\nx\\x1b[31m\\ny  c\n");
}

TEST(TextTable, ShorteningCountsCharacters) {
  EXPECT_EQ(Shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(Shortened("abcdefghijk", 10), "abcd...ijk");
  EXPECT_EQ(Shortened("äöüäöüäöüäö", 10), "äöüä...üäö");
  EXPECT_EQ(Shortened("abcdefghijk", 1), "ab...k");
}

TEST(Units, TimesForPeople) {
  const std::pair<double, const char*> cases[] = {{0, "0 ns"},
                                                  {441, "441 ns"},
                                                  {999.6, "1000 ns"},
                                                  {999.96, "1 us"},
                                                  {4319, "4.319 us"},
                                                  {137'900, "137.9 us"},
                                                  {999'994, "1 ms"},
                                                  {12'430'000, "12.43 ms"},
                                                  {13.0696e9, "13.07 s"},
                                                  {-1'200'000, "-1.2 ms"}};
  for (const auto& [ns, expected] : cases) EXPECT_EQ(TimeText(ns), expected) << ns;
  EXPECT_EQ(SignedTimeText(40), "+40 ns");
  EXPECT_EQ(SignedPercentText(0.1234), "+12.3%");
  EXPECT_EQ(SignedPercentText(-0.02), "-2.0%");
  EXPECT_EQ(SignedPercentText(0.01234, 2), "+1.23%");
  EXPECT_EQ(SignedPercentText(0), "0.0%");
  EXPECT_EQ(SignedTimeText(-1'200'000), "-1.2 ms");
  EXPECT_EQ(SignedTimeText(0.2), "0 ns");
  EXPECT_EQ(PercentText(0.1234), "12.3%");
  EXPECT_EQ(PercentText(std::nan("")), "-");
}

}  // namespace
}  // namespace lanescope
