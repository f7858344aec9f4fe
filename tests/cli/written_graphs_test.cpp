// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

json Simulated(const std::string& graph, const std::string& strategy, const std::string& machine) {
  return LanescopeJson(
      {"simulate", graph, "--json", "--strategy", strategy, "--machine", SampleMachine(machine)});
}

// Law: a graph that a strategy wrote and saved, with its run configuration, is the one that it simulates.
TEST(WrittenGraphs, OpenAsTheyWere) {
  const std::string path = ::testing::TempDir() + "lanescope-written.pb";
  const Outcome placed = Lanescope({"place", Sample("deepconn_single"), "--strategy", "data-parallel",
                                    "--machine", SampleMachine("k80x2"), "-o", path});
  ASSERT_EQ(placed.status, 0) << placed.errors;
  EXPECT_EQ(Simulated(path, "annotated", "k80x2")["step_ns"],
            Simulated(Sample("deepconn_single"), "data-parallel", "k80x2")["step_ns"]);
}

// Law: placements of one graph share its lower bound, a graph that a strategy wrote has its own.
TEST(WrittenGraphs, HaveTheirOwnLowerBound) {
  const json result =
      LanescopeJson({"compare", "--no-run", "--json", "--machine", SampleMachine("k80x2"), "--strategies",
                     "single,data-parallel,alternating", Sample("deepconn_single")});
  ASSERT_EQ(result["lower_bounds"].size(), 2u);
  EXPECT_EQ(result["lower_bounds"][0]["graph"], "deepconn_single.pbtxt");
  EXPECT_EQ(result["lower_bounds"][1]["graph"], "deepconn_single.pbtxt as data-parallel writes it");
}

// Law: what `make gpt` writes simulates on a machine with as many GPUs.
TEST(WrittenGraphs, GptStepsSimulate) {
  const std::string path = ::testing::TempDir() + "lanescope-gpt.pb";
  const Outcome made = Lanescope({"make", "gpt", "--layers", "4", "--batch", "8", "--micro-batch", "2",
                                  "--tensor", "2", "--data", "2", "--pipeline", "2", "-o", path});
  ASSERT_EQ(made.status, 0) << made.errors;
  const json simulated = Simulated(path, "annotated", "dgx-h100");
  EXPECT_GT(simulated["step_ns"]["value"], 10'000'000);
  EXPECT_EQ(simulated["busy"].size(), 9u);
  ExpectError(Lanescope({"make", "gpt", "--layers", "5", "--pipeline", "2", "-o", path}), 1,
              "InvalidArgument", "5 layers are no multiple of 2 stages");
  EXPECT_EQ(Lanescope({"make", "gpt", "-o", "gpt.json"}).status, 2);
  EXPECT_EQ(Lanescope({"make"}).status, 2);
}

// Law: a step of 16,384 GPUs is written folded, and simulates on a machine file that is short.
TEST(WrittenGraphs, ThousandsOfGpusAreFolded) {
  const Folder folder;
  const std::string machine = folder.File("M.json"), graph = folder.File("G.pb");
  ASSERT_EQ(Lanescope({"devices", "--make", "dgx-a100:16384,fat-tree,200Gb/s", "-o", machine}).status, 0);
  EXPECT_LT(ReadText(machine).size(), 3000u);
  ASSERT_EQ(Lanescope({"make", "gpt", "--layers", "16", "--hidden", "2048", "--batch", "512", "--micro-batch",
                       "1", "--tensor", "8", "--data", "128", "--pipeline", "16", "-o", graph})
                .status,
            0);
  const json simulated = LanescopeJson({"simulate", graph, "--json", "--machine", machine});
  EXPECT_EQ(simulated["folded"]["stands_for"], 1024);
  EXPECT_EQ(simulated["folded"]["shares_links"], false);
  EXPECT_EQ(simulated["busy"].size(), 16u) << "a GPU of each stage";
  EXPECT_GT(simulated["copies"]["device_to_device"]["count"], 0);
  ExpectError(Lanescope({"devices", "--make", "dgx-a100:16,torus"}), 1, "InvalidArgument", "torus");
}

}  // namespace
}  // namespace lanescope::cli
