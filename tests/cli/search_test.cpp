#include <gmock/gmock.h>

#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json Search(std::vector<std::string> more) {
  std::vector<std::string> command = {
      "search", Sample("deepconn_dual"), "--json", "--machine", SampleMachine("k80x2"), "--rounds", "1"};
  command.insert(command.end(), more.begin(), more.end());
  return LanescopeJson(command);
}

TEST(Search, JsonHasTheKeysOfTheContract) {
  const json result = Search({});
  const json& best = result["best"];
  EXPECT_TRUE(best["strategy"].is_string());
  EXPECT_TRUE(best["placement"]["nodes"].is_object());
  EXPECT_LE(result["lower_bound_ns"], best["step_ns"]);
  EXPECT_GE(result["gap"], 0.0);
  EXPECT_GT(result["evaluations"], 0);
  EXPECT_GT(result["evaluations_per_s"], 0.0);
  EXPECT_TRUE(result["verified"].empty());
  ASSERT_GE(result["starts"].size(), 9u);
  for (const json& start : result["starts"]) EXPECT_LE(best["step_ns"], start["step_ns"]) << start;
}

// What `-o` writes is what `simulate` then predicts, and no number of threads changes it.
TEST(Search, TheFileHoldsTheBest) {
  const Folder folder;
  const std::string path = folder.File("best.json");
  const json one = Search({"--threads", "1", "-o", path, "--start", "single,annotated,heft"});
  const json two = Search({"--threads", "2", "--start", "single,annotated,heft"});
  EXPECT_EQ(one["best"], two["best"]);
  EXPECT_EQ(one["evaluations"], two["evaluations"]);
  EXPECT_EQ(one["starts"].size(), 3u);
  const json simulated = LanescopeJson({"simulate", Sample("deepconn_dual"), "--json", "--machine",
                                        SampleMachine("k80x2"), "--strategy", "@" + path});
  EXPECT_EQ(simulated["step_ns"]["value"], one["best"]["step_ns"]);
}

TEST(Search, RunsTheBestOnTheDevices) {
  const json result =
      LanescopeJson({"search", Sample("polynomial"), "--json", "--machine", SampleMachine("two-virtual-gpus"),
                     "--rounds", "1", "--verify", "2", "--steps", "3"});
  ASSERT_GE(result["verified"].size(), 1u);
  EXPECT_EQ(result["verified"][0]["predicted_ns"], result["best"]["step_ns"]);
  EXPECT_GT(result["verified"][0]["measured_ns"], 0);
}

TEST(Search, UnknownStartsAreErrors) {
  ExpectError(Lanescope({"search", Sample("polynomial"), "--start", "best"}), 1, "NotFound", "best");
  EXPECT_EQ(Lanescope({"search", Sample("polynomial"), "--budget", "soon"}).status, 2);
  ExpectError(Lanescope({"search", Sample("polynomial"), "--start", "data-parallel"}), 1, "InvalidArgument",
              "writes another graph");
}

}  // namespace
}  // namespace lanescope::cli
