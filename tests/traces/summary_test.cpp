// SPDX-License-Identifier: Apache-2.0
#include "traces/report/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/traces/sample_run.h"
#include "tests/traces/shared_traces.h"
#include "traces/import/import.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

Summary SampleSummary() {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 2);
  writer.Close();
  return Summarize(file.path(), 1);
}

// Per step: a 300 + b 300 (one op type), copies 100 + 200 + 50; two steps.
TEST(SummaryTest, TotalsCountsAndOrder) {
  const Summary summary = SampleSummary();
  ASSERT_EQ(summary.gpu_activities.size(), 4u);
  const SummaryRow& first = summary.gpu_activities[0];
  EXPECT_EQ(first.name, "SampleMap");
  EXPECT_EQ(first.type, "kernel");
  EXPECT_EQ(first.total_ns, 1200);
  EXPECT_EQ(first.calls, 4);
  EXPECT_EQ(first.avg_ns, 300);
  EXPECT_EQ(first.min_ns, 300);
  EXPECT_EQ(first.max_ns, 300);
  EXPECT_NEAR(first.time_percent, 100 * 1200.0 / 1900, 1e-9);
  EXPECT_EQ(summary.gpu_activities[1].name, "[CUDA memcpy PtoP]");
  EXPECT_EQ(summary.gpu_activities[1].total_ns, 400);
  EXPECT_EQ(summary.gpu_activities[2].name, "[CUDA memcpy HtoD]");
  EXPECT_EQ(summary.gpu_activities[3].name, "[CUDA memcpy DtoH]");
  ASSERT_EQ(summary.host_activities.size(), 1u);
  EXPECT_EQ(summary.host_activities[0].name, "SampleSource");
  EXPECT_EQ(summary.host_activities[0].total_ns, 200);
}

// GPU 0 computes 0-80 of 100 us, GPU 1 60-100: 60% on the mean, but nothing makes it shorter than the 80 of
// GPU 0.
TEST(SummaryTest, WhatHidingSavesIsBoundByTheBusiestGpu) {
  ScratchFile in("in.json"), out;
  std::ofstream(in.path()) << R"json({"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 80, "args": {"device": 0}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 7, "ts": 60, "dur": 40, "args": {"device": 1}}]})json";
  ImportTraces({in.path()}, out.path());
  const Summary summary = Summarize(out.path(), 1);
  ASSERT_TRUE(summary.bound);
  EXPECT_EQ(summary.bound->name, "compute");
  EXPECT_DOUBLE_EQ(summary.bound->coverage, 0.6);
  EXPECT_DOUBLE_EQ(summary.bound->most, 0.8);
  EXPECT_THAT(summary.verdict, testing::HasSubstr("hiding all else would save at most 20% of it"));
}

TEST(SummaryTest, TrafficFromDeviceToDevice) {
  const Summary summary = SampleSummary();
  ASSERT_EQ(summary.traffic.size(), 3u);
  EXPECT_EQ(summary.traffic[0].src, "GPU:0");
  EXPECT_EQ(summary.traffic[0].dst, "GPU:1");
  EXPECT_EQ(summary.traffic[0].count, 2);
  EXPECT_EQ(summary.traffic[0].bytes, 64);
  EXPECT_EQ(summary.traffic[0].ns, 400);
  EXPECT_EQ(summary.traffic[1].src, "GPU:1");
  EXPECT_EQ(summary.traffic[1].dst, "CPU:0");
  EXPECT_EQ(summary.traffic[2].src, "CPU:0");
}

// Two steps of 1000. In each GPU:0 takes a copy 100-200, runs an op 200-500 and sends 400-600; GPU:1 takes
// that, runs an op 600-900 and sends 900-950: compute 300 and 300, overlapped 100 and 0, exposed 200 and 250.
TEST(SummaryTest, CommunicationByUnionOfIntervals) {
  const Communication c = SampleSummary().communication;
  EXPECT_EQ(c.devices, 2);
  EXPECT_EQ(c.compute_ns, 2 * 600);
  EXPECT_EQ(c.overlapped_ns, 2 * 100);
  EXPECT_EQ(c.exposed_ns, 2 * 450);
  EXPECT_EQ(c.idle_ns, 2 * 2000 - 2 * 600 - 2 * 450);
}

TEST(SummaryTest, VerdictIsOneSentence) {
  EXPECT_EQ(
      SampleSummary().verdict,
      "Waiting decides: of 2 us, ops run 30.0%, copies that nothing hides 22.5%, nothing 47.5%; 18% of the "
      "copying is hidden by compute; 2 copies with 64 B go from device to device; of what computes SampleMap "
      "takes the most time (100%).");
}

TEST(SummaryTest, TextHasTheColumnsOfNvprof) {
  const std::string text = SummaryText(SampleSummary());
  EXPECT_THAT(text,
              testing::StartsWith("GPU activities:\n"
                                  "Time(%)    Time  Calls     Avg     Min     Max  Name\n"
                                  " 63.16%  1.2 us      4  300 ns  300 ns  300 ns  SampleMap\n"
                                  " 21.05%  400 ns      2  200 ns  200 ns  200 ns  [CUDA memcpy PtoP]\n"));
  EXPECT_THAT(text, testing::HasSubstr("\nHost activities:\n"));
}

// Names give way to the width, all else stays.
TEST(SummaryTest, TextFitsTheWidth) {
  Summary summary = SampleSummary();
  summary.gpu_activities[0].name = "void " + std::string(200, 'k') + "(float*)";
  const std::string text = SummaryText(summary, {.width = 80});
  std::istringstream lines(text.substr(0, text.find("\n\n")));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(SummaryText(summary), testing::HasSubstr(summary.gpu_activities[0].name));
}

// A run in two processes names them, and their clocks.
TEST(SummaryTest, TasksAreNamedWithTheirProcesses) {
  ScratchFile file;
  SampleRun sample(false);
  sample.SplitIntoTasks();
  RunOutcome outcome;
  outcome.tasks = SampleRun::Tasks();
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 1, outcome);
  writer.Close();
  const Summary summary = Summarize(file.path(), 1);
  EXPECT_THAT(SummaryText(summary), testing::ContainsRegex("/job:worker/task:1 +rank 1 on b +-7 us +3.2 us"));
  const auto tasks = nlohmann::json::parse(SummaryJson(summary))["tasks"];
  EXPECT_EQ(tasks[1], nlohmann::json::parse(R"({"name": "/job:worker/task:1", "process": "rank 1 on b",
      "clock_ahead_ns": -7000, "clock_uncertainty_ns": 3200})"));
  EXPECT_EQ(SummaryText(SampleSummary()).find("Process"), std::string::npos);
}

TEST(SummaryTest, JsonHasThePromisedKeys) {
  const auto json = nlohmann::json::parse(SummaryJson(SampleSummary()));
  for (const char* key : {"gpu_activities", "api_calls", "traffic", "communication", "dropped", "verdict"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  const auto& row = json["gpu_activities"][0];
  for (const char* key :
       {"name", "type", "time_percent", "total_ns", "calls", "avg_ns", "min_ns", "max_ns"}) {
    EXPECT_TRUE(row.contains(key)) << key;
  }
  EXPECT_EQ(json["communication"]["exposed_ns"], 900);
  EXPECT_TRUE(row["total_ns"].is_number_integer());
}

// Tables large enough to be read in two halves: 600,000 rows of 3 ns every 10 ns on two devices, names in
// turn.
TEST(SummaryTest, LargeTablesAddUp) {
  ScratchFile file;
  Database(file.path(), OpenMode::kCreate)
      .Execute(
          "PRAGMA synchronous=OFF; CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, "
          "deviceId "
          "INTEGER, shortName INTEGER);"
          "WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 599999) INSERT INTO "
          "CUPTI_ACTIVITY_KIND_KERNEL SELECT x * 10, x * 10 + 3, x % 2, x % 3 FROM n;");
  const Summary summary = Summarize(file.path(), 1);
  ASSERT_EQ(summary.gpu_activities.size(), 3u);
  for (const SummaryRow& row : summary.gpu_activities) {
    EXPECT_EQ(row.calls, 200'000);
    EXPECT_EQ(row.total_ns, 600'000);
  }
  EXPECT_EQ(summary.communication.compute_ns, 1'800'000);
  EXPECT_EQ(summary.communication.idle_ns, 2 * (599'999 * 10 + 3) - 1'800'000);  // of two devices
}

TEST(RealTraceTest, SummaryOfTwoH100s) {
  const std::string path = SharedNsysTrace("h100_2gpu_1s.sqlite");
  if (path.empty()) GTEST_SKIP() << "no shared traces here";
  const Summary summary = Summarize(path, 1);
  int64_t kernel_ns = 0, kernels = 0, in_bytes = 0, local_copy_ns = 0;
  for (const SummaryRow& row : summary.gpu_activities) {
    if (row.type != "kernel") continue;
    kernel_ns += row.total_ns;
    kernels += row.calls;
  }
  EXPECT_EQ(kernels, 3442);
  EXPECT_EQ(kernel_ns, 22'385'163 + 22'444'359);
  for (const TrafficRow& row : summary.traffic) {
    if (row.src == "host") in_bytes += row.bytes;
    if (row.src == row.dst) local_copy_ns += row.ns;
  }
  EXPECT_EQ(in_bytes, 50'950'507'584);
  EXPECT_FALSE(summary.api_calls.empty());
  const Communication& c = summary.communication;
  EXPECT_GE(c.idle_ns, 0);
  EXPECT_LE(c.compute_ns, kernel_ns + local_copy_ns);
}

}  // namespace
}  // namespace lanescope::traces
