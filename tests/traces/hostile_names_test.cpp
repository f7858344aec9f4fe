// SPDX-License-Identifier: Apache-2.0
// Names, shapes and call stacks of imports that are huge or command a terminal: every report stays within its
// width and shows them as text.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "core/runs/run_diff.h"
#include "tests/traces/sample_run.h"
#include "traces/export/export.h"
#include "traces/export/report_page.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"
#include "traces/read/trace_view.h"
#include "traces/report/launch_origins.h"
#include "traces/report/summary.h"

namespace lanescope::traces {
namespace {

constexpr int kWidth = 100;
constexpr size_t kHuge = size_t{1} << 20;

// A colour, a title, an override of direction, a NUL, and a megabyte.
std::string Evil(char letter) {
  return std::string("evil\x1b[31m\x1b]0;t\x07\xe2\x80\xae") + std::string(1, '\0') +
         std::string(kHuge, letter);
}

// Everything that has a name has such a one.
std::string EvilTrace() {
  using nlohmann::json;
  json events = json::array();
  const auto named = [&](const char* what, int pid, int tid, char letter) {
    events.push_back(
        {{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", Evil(letter)}}}});
  };
  named("process_name", 100, 0, 'p');
  named("thread_name", 100, 101, 't');
  named("thread_name", 0, 7, 's');
  const auto event = [&](const char* category, const std::string& name, int pid, int tid, int start,
                         int length, const json& args) {
    events.push_back({{"ph", "X"},
                      {"cat", category},
                      {"name", name},
                      {"pid", pid},
                      {"tid", tid},
                      {"ts", start},
                      {"dur", length},
                      {"args", args}});
  };
  event("cpu_op", Evil('o'), 100, 101, 0, 100,
        {{"Input Dims", json::array({Evil('d')})},
         {"Input type", json::array({Evil('y')})},
         {"Call stack", Evil('c') + ";" + Evil('k')}});
  event("cuda_runtime", Evil('a'), 100, 101, 1, 2, {{"correlation", 7}});
  event("kernel", Evil('k'), 0, 7, 50, 40,
        {{"correlation", 7},
         {"Collective name", Evil('n')},
         {"dtype", "Float"},
         {"In msg nelems", 4},
         {"Process Group Name", Evil('g')}});
  event("gpu_user_annotation", Evil('u'), 0, 7, 50, 40, json::object());
  event("cuda_profiler_range", Evil('r'), 0, 7, 50, 40, {{Evil('m'), 1}});
  event(Evil('x').c_str(), "left out", 0, 7, 50, 40, json::object());
  return json({{"deviceProperties", {{{"id", 0}, {"name", Evil('v')}}}}, {"traceEvents", events}}).dump();
}

// Law: no line is longer than the width (tables that have many columns take what these need), and none
// commands the terminal.
void ExpectHarmless(const std::string& text, size_t longest) {
  size_t line = 0;
  for (const char c : text) {
    line = c == '\n' ? 0 : line + 1;
    ASSERT_LE(line, longest) << text.substr(0, 2000);
    ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c);
  }
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
}

class HostileNamesTest : public testing::Test {
 protected:
  HostileNamesTest() : in_("in.json"), out_("out.db") {
    std::ofstream(in_.path(), std::ios::binary) << EvilTrace();
    counts_ = ImportTraces({in_.path()}, out_.path());
    run_ = TraceReader(out_.path()).ReadRun(1);
  }
  ScratchFile in_, out_;
  ImportCounts counts_;
  TraceRun run_;
};

TEST_F(HostileNamesTest, ReportsStayWithinTheirWidth) {
  SummaryOptions options;
  options.waits = options.ranges = true;
  const Summary summary = Summarize(out_.path(), 1, options);
  ExpectHarmless(SummaryText(summary, {.width = kWidth}), 3 * kWidth);
  EXPECT_TRUE(nlohmann::json::accept(SummaryJson(summary)));
}

TEST_F(HostileNamesTest, TextsAreKeptWhole) {
  ASSERT_EQ(run_.launches.size(), 1u);
  EXPECT_GE(run_.Text(run_.launches[0].name).size(), kHuge);
  const LaunchOrigins origins(run_);
  const LaunchOrigin* origin = origins.Find(run_.Text(run_.launches[0].name));
  ASSERT_NE(origin, nullptr);
  EXPECT_GE(origin->shapes.size(), kHuge);
  // Frames end at ";", and the text has one.
  EXPECT_GE(origin->callers.at(1).size(), kHuge);
}

TEST_F(HostileNamesTest, WhatIsLeftOutIsNamedInShort) {
  ASSERT_EQ(counts_.left_out.size(), 1u);
  EXPECT_LE(counts_.left_out.begin()->first.size(), 100u);
  ExpectHarmless(Printable(counts_.left_out.begin()->first), kWidth + 100);
}

TEST_F(HostileNamesTest, VerdictsAndExportsTakeThem) {
  const RunProfile profile = ProfileRun(ViewOfRun(run_));
  EXPECT_FALSE(DiffVerdict(DiffRuns(profile, profile)).empty());
  std::string chrome;
  WriteChrome(run_, [&](std::string_view part) { chrome += part; });
  EXPECT_TRUE(nlohmann::json::accept(chrome));
  for (const auto write : {WritePerfetto, WriteCsv}) {
    size_t bytes = 0;
    write(run_, [&](std::string_view part) { bytes += part.size(); });
    EXPECT_GT(bytes, 0u);
  }
  EXPECT_FALSE(TimelineData(run_, 100).empty());
}

// 20,000 ranges around one another, each with a kernel: the callers of each are looked for in the ranges next
// to it alone.
TEST(DeepRangesTest, RangesAroundRangesAreFollowedSoFar) {
  constexpr int kDeep = 20'000;
  TraceRun run;
  for (int i = 0; i < kDeep; ++i) {
    run.texts.push_back(fmt::format("r{}", i));
    TraceRange range;
    range.start_ns = i;
    range.end_ns = 3 * kDeep - i;
    range.global_tid = 7;
    range.text = i;
    run.ranges.push_back(range);
    TraceLaunch launch;
    launch.name = i;
    launch.range = i;
    launch.end_ns = 1;
    run.launches.push_back(launch);
  }
  const LaunchOrigins origins(run);
  const LaunchOrigin* deepest = origins.Find(fmt::format("r{}", kDeep - 1));
  ASSERT_NE(deepest, nullptr);
  EXPECT_EQ(deepest->callers.at(0), fmt::format("r{}", kDeep - 2));
}

}  // namespace
}  // namespace lanescope::traces
