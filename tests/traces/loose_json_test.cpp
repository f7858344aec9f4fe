// SPDX-License-Identifier: Apache-2.0
// JSON that is none to the letter, as profilers write it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "traces/import/strict_json.h"

namespace lanescope::traces {
namespace {

struct Mended {
  std::string text;
  int64_t faults = 0;
  bool closed = false;
};

Mended Mend(const std::string& text) {
  std::stringbuf source(text);
  StrictJson strict(&source);
  Mended mended;
  for (int c = strict.sbumpc(); c != EOF; c = strict.sbumpc()) mended.text += static_cast<char>(c);
  mended.faults = strict.mended();
  mended.closed = strict.closed();
  return mended;
}

TEST(LooseJsonTest, WhatIsJsonStaysAsItIs) {
  for (const std::string text : {R"({"a": ["\\\"\n\u00e9é", -1.5e3, true, null], "b": {}})",
                                 R"(["C:\\dir\\", "a\", b"])", "[]", "17", ""}) {
    const Mended mended = Mend(text);
    EXPECT_EQ(mended.text, text);
    EXPECT_EQ(mended.faults, 0);
    EXPECT_FALSE(mended.closed);
  }
}

// A text with one backslash that begins no escape has no escapes at all.
TEST(LooseJsonTest, BackslashesOfPaths) {
  EXPECT_EQ(Mend(R"(["C:\python\new\t.py"])").text, R"(["C:\\python\\new\\t.py"])");
  EXPECT_EQ(Mend(R"(["C:\users\q"])").text, R"(["C:\\users\\q"])");
  EXPECT_EQ(Mend(R"({"C:\q": "D:\q\"})").text, R"({"C:\\q": "D:\\q\\"})");
  EXPECT_EQ(Mend(R"(["\u12"])").text, R"(["\\u12"])");
  EXPECT_EQ(Mend(R"(["\q", "\n", "\q"])").faults, 2);
}

TEST(LooseJsonTest, ControlCharactersAndBytesThatAreNoText) {
  EXPECT_EQ(Mend("[\"a\nb\x01\"]").text, "[\"a\\u000ab\\u0001\"]");
  EXPECT_EQ(Mend("[\"a\xff\xc3\"]").text, "[\"a\\ufffd\\ufffd\"]");
  EXPECT_EQ(Mend("[\"a\nb\"]").faults, 1);
}

// JSON has a pair of them or none.
TEST(LooseJsonTest, HalvesOfPairsOfUtf16) {
  EXPECT_EQ(Mend(R"(["\ud83d\ude00", "\ud83d!", "\ude00"])").text,
            R"(["\ud83d\ude00", "\ufffd!", "\ufffd"])");
  EXPECT_EQ(Mend(R"(["\ud83d!", "\ud83d\ude00"])").faults, 1);
}

// Behind the quote that ends a text comes a comma, a colon, a bracket or nothing.
TEST(LooseJsonTest, QuotesThatNobodyEscaped) {
  const Mended mended = Mend(R"x({"f<"a">(b)" : "say "hi"", "c": ["d"]})x");
  EXPECT_EQ(mended.text, R"x({"f<\"a\">(b)" : "say \"hi\"", "c": ["d"]})x");
  EXPECT_EQ(mended.faults, 2);
}

TEST(LooseJsonTest, NumbersThatAreNone) {
  EXPECT_EQ(Mend("[-nan(ind), nan(0x8), 1.#INF, -1.#IND]").text, "[null, null, null, null]");
  EXPECT_EQ(Mend("[NaN, -Infinity, inf, 1]").text, "[null, null, null, 1]");
  EXPECT_EQ(Mend("[NaN, -Infinity, inf, 1]").faults, 3);
  EXPECT_EQ(Mend("[1e999, -2.5e+400, 1e300, 1e-999]").text, "[null, null, 1e300, 1e-999]");
}

TEST(LooseJsonTest, CommasAndEnds) {
  EXPECT_EQ(Mend("[{\"a\": 1,}, ]").text, "[{\"a\": 1 }  ]");
  EXPECT_EQ(Mend("[{\"a\": 1},\n").text, "[{\"a\": 1} \n]");
  EXPECT_EQ(Mend("{\"traceEvents\": [{}").text, "{\"traceEvents\": [{}]}");
  EXPECT_EQ(Mend("{\"traceEvents\": [{}]").text, "{\"traceEvents\": [{}]}");
  EXPECT_TRUE(Mend("[{}").closed);
  // Nothing is left of an event that is cut off.
  for (const std::string cut : {"{", "{\"a", "{\"a\": \"b}", "{\"a\": 12", "{\"a\": {}", "{\"a\": {\"b\":"}) {
    EXPECT_EQ(Mend("[{\"c\": 1},\n" + cut).text, "[{\"c\": 1}]");
    EXPECT_EQ(Mend("{\"traceEvents\": [{\"c\": 1}," + cut).text, "{\"traceEvents\": [{\"c\": 1}]}");
    EXPECT_TRUE(Mend("[{}, " + cut).closed);
  }
  // Not behind a whole event.
  for (const std::string cut : {"[{\"a\": 1", "[{\"a\": \"b", "[{\"a\": {}", "[", "[1"}) {
    EXPECT_EQ(Mend(cut).text, cut);
    EXPECT_FALSE(Mend(cut).closed);
  }
}

// Two kernels of 20 us; a name with a path of Windows, one with a line's end, and no end of the list.
TEST(LooseJsonTest, SuchATraceIsReadAndSaysSo) {
  ScratchFile in("loose.json");
  WriteFile(in.path(),
            "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"C:\\python\\a.py\", \"pid\": 1, \"tid\": 1, "
            "\"ts\": 1, \"dur\": 90},\n"
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\nb\", \"pid\": 0, \"tid\": 7, \"ts\": 10, "
            "\"dur\": 20},\n"
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"c\", \"pid\": 0, \"tid\": 7, \"ts\": 40, "
            "\"dur\": 20},\n");
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.mended, 2);
  EXPECT_EQ(counts.cut_short, 1);
  EXPECT_EQ(counts.kernels, 2);
  EXPECT_EQ(run.Text(run.ranges.at(0).text), "C:\\python\\a.py");
  EXPECT_EQ(summary.devices.at(0).compute_ns, 40'000);
  EXPECT_THAT(summary.notes, testing::Contains(testing::HasSubstr("2 faults of the JSON mended")));
  EXPECT_THAT(summary.notes, testing::Contains(testing::HasSubstr("a file ends before the list of events")));
}

// 200 kernels of 1 us, of which the last is cut off at every byte: 199 are read, and the file says that it
// was cut short.
TEST(LooseJsonTest, AnEventThatIsCutOffIsNone) {
  std::string text = "{\"traceEvents\": [";
  const auto kernel = [](int i) {
    return "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": " +
           std::to_string(10 * i) + ", \"dur\": 1}";
  };
  for (int i = 0; i < 199; ++i) text += kernel(i + 1) + ",\n";
  const std::string last = kernel(200);
  for (size_t bytes = 1; bytes < last.size(); bytes += 7) {
    ScratchFile in("cut.json");
    WriteFile(in.path(), text + last.substr(0, bytes));
    const auto [counts, run, summary] = ImportOf(in.path());
    EXPECT_EQ(counts.kernels, 199);
    EXPECT_EQ(counts.cut_short, 1);
  }
}

}  // namespace
}  // namespace lanescope::traces
