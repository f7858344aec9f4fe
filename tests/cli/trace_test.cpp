// SPDX-License-Identifier: Apache-2.0
// summary, query and calibrate on traces that the program wrote.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TraceTest : public testing::Test {
 protected:
  TraceTest() : trace_(folder_.File("t.db")) {
    const Outcome outcome = Lanescope(
        {"run", Sample("polynomial"), "--strategy", "alternating", "--steps", "5", "--trace", trace_});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
  }
  Folder folder_;
  std::string trace_;
};

TEST_F(TraceTest, SummaryJsonHasTheKeysOfTheContract) {
  const json summary = LanescopeJson({"summary", trace_, "--json"});
  ASSERT_FALSE(summary["gpu_activities"].empty());
  for (const char* table : {"gpu_activities", "api_calls"}) {
    ASSERT_TRUE(summary[table].is_array()) << table;
    for (const json& row : summary[table]) {
      EXPECT_TRUE(row["name"].is_string() && row["type"].is_string() && row["time_percent"].is_number());
      for (const char* key : {"total_ns", "calls", "avg_ns", "min_ns", "max_ns"})
        EXPECT_TRUE(row[key].is_number()) << key;
    }
  }
  ASSERT_FALSE(summary["traffic"].empty());
  for (const json& row : summary["traffic"]) {
    EXPECT_TRUE(row["src"].is_string() && row["dst"].is_string());
    for (const char* key : {"count", "bytes", "ns"}) EXPECT_TRUE(row[key].is_number_integer()) << key;
  }
  for (const char* key : {"compute_ns", "overlapped_ns", "exposed_ns", "idle_ns"})
    EXPECT_TRUE(summary["communication"][key].is_number_integer()) << key;
  EXPECT_EQ(summary["dropped"], 0);
  EXPECT_TRUE(summary["verdict"].is_string());
}

TEST_F(TraceTest, SummaryShowsEveryRunOrOne) {
  ASSERT_EQ(Lanescope({"simulate", Sample("polynomial"), "--trace", trace_}).status, 0);
  const std::string all = Lanescope({"summary", trace_}).output;
  EXPECT_THAT(all, HasSubstr("Run 1: "));
  EXPECT_THAT(all, HasSubstr("Run 2: "));
  EXPECT_EQ(Lanescope({"summary", trace_, "--run", "2"}).output.find("Run 1: "), std::string::npos);
  ExpectError(Lanescope({"summary", trace_, "--run", "9"}), 1, "NotFound", "9");
}

TEST_F(TraceTest, QueryReadsOnly) {
  const json result =
      LanescopeJson({"query", trace_, "SELECT runId AS run, strategy FROM LANESCOPE_RUN", "--json"});
  EXPECT_EQ(result, json::parse(R"({"columns": ["run", "strategy"], "rows": [[1, "alternating"]]})"));
  const std::string before = ReadText(trace_);
  for (const std::string sql : {"DELETE FROM LANESCOPE_RUN", "DROP TABLE LANESCOPE_RUN", "CREATE TABLE x(a)",
                                "PRAGMA user_version = 7", "ATTACH 'x.db' AS x", "VACUUM"}) {
    ExpectError(Lanescope({"query", trace_, sql}), 1, "InvalidArgument", "query");
  }
  ExpectError(Lanescope({"query", trace_, "SELECT a FROM nowhere"}), 1, "InvalidArgument", "nowhere");
  EXPECT_EQ(ReadText(trace_), before);
}

TEST_F(TraceTest, ALimitThatCutsAnAnswerIsTold) {
  const std::string endless =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";
  const Outcome rows = Lanescope({"query", trace_, endless, "--limit", "2"});
  EXPECT_EQ(rows.status, 0);
  EXPECT_EQ(rows.output, "x\n-\n1\n2\n");
  EXPECT_EQ(rows.errors, "note: these are the first 2 rows; --limit 0 prints all\n");
  EXPECT_EQ(LanescopeJson({"query", trace_, endless, "--limit", "1", "--json"})["cut"], "rows");
  const Outcome time =
      Lanescope({"query", trace_, "SELECT COUNT(*) FROM (" + endless + ")", "--timeout", "0.01", "--json"});
  EXPECT_EQ(time.status, 1);
  EXPECT_THAT(time.errors, HasSubstr("error: DeadlineExceeded: "));
  EXPECT_EQ(json::parse(time.output)["cut"], "time");
}

// Pipes and devices are looked at before they are opened: none of these waits or reads.
TEST_F(TraceTest, WhatIsNoFileIsRefusedAtOnce) {
  const std::string pipe = folder_.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ExpectError(Lanescope({"run", Sample("polynomial"), "--trace", pipe}), 1, "FailedPrecondition", "pipe");
  ExpectError(Lanescope({"summary", pipe}), 1, "FailedPrecondition", "pipe");
  ExpectError(Lanescope({"place", Sample("polynomial"), "--machine", "/dev/zero"}), 1, "InvalidArgument",
              "device");
  ExpectError(Lanescope({"import", "/dev/zero", "-o", folder_.File("i.db")}), 1, "InvalidArgument", "device");
}

TEST_F(TraceTest, OutputsOnAFullDiskFail) {
  const std::string plot = folder_.File("plot.svg");
  std::filesystem::create_symlink("/dev/full", plot);
  const Outcome sweep =
      Lanescope({"simulate", Sample("polynomial"), "--strategy", "alternating", "--machine",
                 SampleMachine("k80x2"), "--sweep", "link.bandwidth=1GB/s..10GB/s", "--plot", plot});
  EXPECT_EQ(sweep.status, 1);
  EXPECT_THAT(sweep.errors, HasSubstr("error: ResourceExhausted: "));
}

TEST_F(TraceTest, CtrlCEndsAQuery) {
  Process query({"query", trace_,
                 "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"});
  ASSERT_TRUE(query.WaitForHandler(SIGINT));
  query.Signal(SIGINT);
  ExpectError(query.Wait(), 130, "Cancelled", "interrupted");
}

TEST_F(TraceTest, ACalibratedModelPredictsWithIt) {
  const std::string costs = folder_.File("cost.json");
  ASSERT_EQ(Lanescope({"calibrate", trace_, "--no-microbenchmarks", "-o", costs}).status, 0);
  const json simulated = LanescopeJson(
      {"simulate", Sample("polynomial"), "--strategy", "alternating", "--cost", costs, "--json"});
  EXPECT_LT(simulated["uncalibrated_share"], 0.5);
  // Commands are measured at speed 1.
  const json slower = LanescopeJson({"simulate", Sample("polynomial"), "--strategy", "alternating", "--cost",
                                     costs, "--set", "GPU:1.speed=0.1", "--json"});
  EXPECT_GT(slower["step_ns"]["value"], simulated["step_ns"]["value"]);
  EXPECT_EQ(slower["uncalibrated_share"], simulated["uncalibrated_share"]);
  ExpectError(Lanescope({"simulate", Sample("polynomial"), "--cost", folder_.Write("bad.json", "{}")}), 1,
              "InvalidArgument", "bad.json");
}

// Law: what is missing for another graph is said, and measured where it can run by itself.
TEST_F(TraceTest, SaysAndMeasuresWhatAnotherGraphLacks) {
  const std::string costs = folder_.File("cost.json"), more = folder_.File("more.json");
  const std::string graph = Sample("random_add");
  const Outcome lacks = Lanescope({"calibrate", trace_, "--no-microbenchmarks", "--for", graph, "-o", costs});
  ASSERT_EQ(lacks.status, 0) << lacks.errors;
  EXPECT_THAT(lacks.errors, HasSubstr("random_add.pbtxt: not calibrated, a step"));
  const Outcome measured =
      Lanescope({"calibrate", trace_, "--no-microbenchmarks", "--for", graph, "--microbench", "-o", more});
  ASSERT_EQ(measured.status, 0) << measured.errors;
  const double before = LanescopeJson({"simulate", graph, "--cost", costs, "--json"})["uncalibrated_share"];
  const double after = LanescopeJson({"simulate", graph, "--cost", more, "--json"})["uncalibrated_share"];
  EXPECT_GT(before, 0);
  EXPECT_LT(after, before);
}

// Law: one trace given twice has the same means, and twice the executions.
TEST_F(TraceTest, SeveralTracesAreCalibratedTogether) {
  const json one = LanescopeJson({"calibrate", trace_, "--no-microbenchmarks"});
  const json two = LanescopeJson({"calibrate", trace_, trace_, "--no-microbenchmarks"});
  const std::string run = one["calibrated_on"];
  EXPECT_TRUE(run.starts_with("run 1 (")) << run;
  EXPECT_EQ(two["calibrated_on"], trace_ + " " + run + ", " + trace_ + " " + run);
  ASSERT_EQ(one["launches"].size(), two["launches"].size());
  for (size_t i = 0; i < one["launches"].size(); ++i) {
    EXPECT_EQ(two["launches"][i]["ns"], one["launches"][i]["ns"]);
    EXPECT_EQ(two["launches"][i]["count"], 2 * one["launches"][i]["count"].get<int64_t>());
  }
}

TEST_F(TraceTest, WithoutAFileACostModelIsPrinted) {
  const std::string costs = folder_.File("cost.json");
  ASSERT_EQ(Lanescope({"calibrate", trace_, "--no-microbenchmarks", "-o", costs}).status, 0);
  EXPECT_EQ(LanescopeJson({"calibrate", trace_, "--no-microbenchmarks"}), json::parse(ReadText(costs)));
}

TEST_F(TraceTest, WarmUpThatLeavesNoStepIsRefused) {
  const std::string costs = folder_.File("none.json");
  ExpectError(Lanescope({"calibrate", trace_, "--warmup", "1000", "--no-microbenchmarks", "-o", costs}), 1,
              "InvalidArgument", "--warmup");
  EXPECT_EQ(ReadText(costs), "");
}

}  // namespace
}  // namespace lanescope::cli
