// SPDX-License-Identifier: Apache-2.0
// diff and explain on runs that the program recorded, and the options of summary.
#include <gmock/gmock.h>

#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class DiffTest : public testing::Test {
 protected:
  DiffTest() : trace_(folder_.File("t.db")) {
    for (const char* strategy : {"single", "alternating"}) {
      const Outcome outcome =
          Lanescope({"run", Sample("polynomial"), "--strategy", strategy, "--steps", "6", "--trace", trace_});
      EXPECT_EQ(outcome.status, 0) << outcome.errors;
    }
  }
  Folder folder_;
  std::string trace_;
};

// The differences of the parts add up to that of the steps, to the nanosecond.
TEST_F(DiffTest, PartsAddUp) {
  const json diff = LanescopeJson({"diff", trace_, "1", "2", "--json"});
  for (const json& parts : {diff["a"]["parts"], diff["b"]["parts"], diff["difference"]}) {
    EXPECT_EQ(parts["step_ns"].get<int64_t>(),
              parts["compute_ns"].get<int64_t>() + parts["transfer_ns"].get<int64_t>() +
                  parts["waiting_ns"].get<int64_t>() + parts["contention_ns"].get<int64_t>());
  }
  EXPECT_EQ(diff["a"]["strategy"], "single");
  EXPECT_EQ(diff["b"]["strategy"], "alternating");
  ASSERT_FALSE(diff["ops"].empty());
  for (const json& op : diff["ops"]) {
    for (const char* side : {"a", "b"}) {
      for (const char* key : {"count", "ns", "path_ns", "wait_ns"})
        EXPECT_TRUE(op[side][key].is_number()) << key;
    }
  }
  EXPECT_TRUE(diff["verdict"].is_string());
}

TEST_F(DiffTest, RunsAreNamedInTwoWays) {
  EXPECT_EQ(LanescopeJson({"diff", trace_, "1", "2", "--json"}),
            LanescopeJson({"diff", trace_ + ":1", trace_ + ":2", "--json"}));
  ExpectError(Lanescope({"diff", trace_, trace_}), 1, "InvalidArgument", "holds runs 1, 2");
  ExpectError(Lanescope({"diff", trace_, "1", "9"}), 1, "NotFound", "9");
  ExpectError(Lanescope({"diff", trace_, "1", "x"}), 1, "InvalidArgument", "x");
  ExpectError(Lanescope({"diff", trace_, "1", "2", "--step", "99"}), 1, "NotFound", "99");
  ExpectError(Lanescope({"diff", trace_, "1", "2", "3"}), 2, "InvalidArgument", "diff");
}

// The simulator knows its critical path; what diff finds in the trace of the same step is as long.
TEST(DiffOfSimulationsTest, ThePathIsThatOfTheSimulator) {
  Folder folder;
  const std::string trace = folder.File("t.db");
  for (const char* graph : {"deepconn_dual", "deepconn_alternating"}) {
    const json simulated = LanescopeJson(
        {"simulate", Sample(graph), "--machine", SampleMachine("k80x2"), "--trace", trace, "--json"});
    const std::string run = trace + (graph == std::string("deepconn_dual") ? ":1" : ":2");
    const json parts = LanescopeJson({"diff", run, run, "--json"})["a"]["parts"];
    EXPECT_EQ(parts["step_ns"], simulated["step_ns"]["value"]);
    EXPECT_EQ(parts["compute_ns"].get<int64_t>() + parts["transfer_ns"].get<int64_t>(),
              simulated["critical_path_ns"].get<int64_t>());
    EXPECT_GT(parts["transfer_ns"], 0);
  }
}

TEST_F(DiffTest, ExplainNamesTheReasons) {
  const std::string text = Lanescope({"explain", trace_, "1", "2"}).output;
  EXPECT_THAT(text, HasSubstr("Critical path of A (run 1 of "));
  EXPECT_THAT(text, HasSubstr("Longer on the path of B"));
  EXPECT_THAT(text, HasSubstr("copy of "));  // that only alternating makes
  const json explained = LanescopeJson({"explain", trace_, "1", "2", "--json"});
  int64_t change = 0;
  for (const char* list : {"longer", "shorter"}) {
    for (const json& reason : explained[list]) change += reason["change_ns"].get<int64_t>();
  }
  const json diff = LanescopeJson({"diff", trace_, "1", "2", "--json"});
  // Every reason is rounded by itself.
  EXPECT_NEAR(static_cast<double>(change), diff["difference"]["step_ns"].get<double>(), 500);
}

TEST_F(DiffTest, SummaryOfOneStep) {
  const json all = LanescopeJson({"summary", trace_, "--run", "2", "--json"});
  const json one = LanescopeJson({"summary", trace_, "--run", "2", "--step", "3", "--json"});
  ASSERT_EQ(all["steps"].size(), 6u);
  EXPECT_EQ(one["devices"], all["steps"][3]["devices"]);
  for (const json& device : one["devices"]) {
    EXPECT_EQ(device["window_ns"].get<int64_t>(),
              device["compute_ns"].get<int64_t>() + device["exposed_ns"].get<int64_t>() +
                  device["exposed_copies_ns"].get<int64_t>() + device["exposed_memsets_ns"].get<int64_t>() +
                  device["idle_ns"].get<int64_t>());
  }
  ExpectError(Lanescope({"summary", trace_, "--run", "2", "--step", "6"}), 1, "NotFound", "0 to 5");
  ExpectError(Lanescope({"summary", trace_, "--run", "2", "--by", "nvtx"}), 1, "FailedPrecondition", "NVTX");
  ExpectError(Lanescope({"summary", trace_, "--format", "other"}), 2, "InvalidArgument", "other");
}

TEST_F(DiffTest, SummaryInTheTablesOfNsys) {
  EXPECT_THAT(Lanescope({"summary", trace_, "--run", "1", "--format", "nsys"}).output,
              HasSubstr("Time (%)  Total Time (ns)  Instances"));
  const json summary = LanescopeJson({"summary", trace_, "--run", "1", "--format", "nsys", "--json"});
  ASSERT_FALSE(summary["kernel_sum"].empty());
  for (const char* key : {"name", "percent", "total", "count", "avg", "med", "min", "max", "stddev"}) {
    EXPECT_TRUE(summary["kernel_sum"][0].contains(key)) << key;
  }
}

TEST_F(DiffTest, AReportOfNsightSystemsIsNamed) {
  const std::string report = folder_.Write("r.nsys-rep", "something else than a database");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"summary", report}, {"query", report, "SELECT 1"}, {"diff", report, trace_ + ":1"}}) {
    ExpectError(Lanescope(command), 1, "InvalidArgument", "nsys export --type sqlite");
  }
}

}  // namespace
}  // namespace lanescope::cli
