// SPDX-License-Identifier: Apache-2.0
// Events that are read many at a time, and what of a file passes them by.
#include "traces/import/event_sieve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/traces/imported.h"

namespace lanescope::traces {
namespace {

struct Sieved {
  std::vector<std::string> names;  // of the events that were taken
  std::string passed;
  int64_t mended = 0;
};

Sieved Sieve(const std::string& text) {
  Sieved sieved;
  std::stringbuf source(text);
  EventSieve sieve(
      &source,
      [&](const ChromeEvent& event) {
        const JsonValue* name = event.Find("name");
        sieved.names.emplace_back(name == nullptr ? "" : name->text);
      },
      [](int64_t) {});
  for (int c = sieve.sbumpc(); c != EOF; c = sieve.sbumpc()) sieved.passed += static_cast<char>(c);
  sieved.mended = sieve.mended();
  return sieved;
}

// All but the last event are taken; what is around them passes to the letter.
TEST(EventSieveTest, TakesEventsOutOfTheirList) {
  const Sieved sieved = Sieve(
      R"({"v": [{"name": 0}, {"name": 1}], "traceEvents": [{"name": "a"}, 5, {"name": "b"}, {"name": "c"}], "w": 2})");
  EXPECT_THAT(sieved.names, testing::ElementsAre("a", "b"));
  EXPECT_EQ(sieved.passed, R"({"v": [{"name": 0}, {"name": 1}], "traceEvents": [ {"name": "c"}], "w": 2})");
  EXPECT_EQ(Sieve(R"([{"name": "a"},{"name": "b"}])").passed, R"([{"name": "b"}])");
}

TEST(EventSieveTest, WhatHasNoSuchListPasses) {
  for (const std::string text :
       {R"({"a": {"traceEvents": [{"b": 1}, {"b": 2}]}, "c": "traceEvents"})",
        R"({"a\"traceEvents": [{"b": 1}, {"b": 2}]})", "{", "", "[[{}]", R"("[{},{}]")"}) {
    const Sieved sieved = Sieve(text);
    EXPECT_EQ(sieved.passed, text);
    EXPECT_TRUE(sieved.names.empty());
  }
}

// A comma between two braces within an event, or within a text, ends no event.
TEST(EventSieveTest, BracesWithinEventsEndNone) {
  const std::string last = R"({"name": "b", "args": {"l": [{"x": 1}, {"y": "},{"}]}})";
  const Sieved sieved = Sieve(R"([{"name": "a", "args": {"l": [{"x": 1}, {"y": 2}]}},)" + last + "]");
  EXPECT_THAT(sieved.names, testing::ElementsAre("a"));
  EXPECT_EQ(sieved.passed, "[" + last + "]");
}

// A list with a path of Windows and no number where one is, both are mended; one that no reader can mend
// passes whole.
TEST(EventSieveTest, MendsWhatCanBeMended) {
  const Sieved mended = Sieve(R"([{"name": "C:\q", "v": NaN}, {"name": "b"}, {}])");
  EXPECT_THAT(mended.names, testing::ElementsAre("C:\\q", "b"));
  EXPECT_EQ(mended.mended, 2);
  EXPECT_EQ(mended.passed, "[ {}]");
  const std::string broken = R"([{"name": 1 2}, {"name": "b"}, {}])";
  EXPECT_EQ(Sieve(broken).passed, broken);
}

// 30,000 kernels, which fill several windows, are the same whoever reads them: numbers beyond 64 bits are
// left to the other reader.
TEST(EventSieveTest, BothReadersReadTheSame) {
  const auto import = [](const std::string& args) {
    constexpr int kKernels = 30'000;
    std::string text = R"({"traceEvents": [)";
    for (int i = 0; i < kKernels; ++i) {
      text +=
          fmt::format(R"({}{{"ph": "X", "cat": "kernel", "name": "k{}", "pid": 0, "tid": 7, "ts": {}.001, )"
                      R"("dur": 1.5, "args": {{"stream": 7, "grid": [1, {}, 1], "block": [32, 1, 1]{}}}}})",
                      i == 0 ? "" : ",\n", i % 7, 1714521600000000 + 3 * i, i % 5, args);
    }
    ScratchFile in("many.json");
    WriteFile(in.path(), text + "]}");
    return ImportOf(in.path());
  };
  const Imported fast = import(""), slow = import(R"(, "addr": 99999999999999999999)");
  ASSERT_EQ(fast.run.launches.size(), 30'000u);
  ASSERT_EQ(slow.run.launches.size(), 30'000u);
  for (size_t i = 0; i < fast.run.launches.size(); ++i) {
    const TraceLaunch &a = fast.run.launches[i], &b = slow.run.launches[i];
    ASSERT_EQ(a.start_ns, b.start_ns);
    ASSERT_EQ(a.start_ns, 3000 * static_cast<int64_t>(i));
    ASSERT_EQ(a.end_ns, b.end_ns);
    ASSERT_EQ(fast.run.Text(a.name), slow.run.Text(b.name));
  }
}

}  // namespace
}  // namespace lanescope::traces
