// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

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

// The file of `-o` is what `simulate` then predicts, and no number of threads changes it.
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

// A graph of `make gpt` is searched for its layout, and the best is written as a graph again.
TEST(Search, GptGraphsAreSearchedOverLayouts) {
  const Folder folder;
  const std::string graph = folder.File("gpt.pb"), best = folder.File("best.pb");
  ASSERT_EQ(Lanescope({"make", "gpt", "--layers", "4", "--batch", "16", "--micro-batch", "1", "--tensor", "4",
                       "--pipeline", "2", "-o", graph})
                .status,
            0);
  const json result =
      LanescopeJson({"search", graph, "--json", "--machine", SampleMachine("dgx-h100"), "-o", best});
  EXPECT_LE(result["lower_bound_ns"], result["best"]["step_ns"]);
  EXPECT_GT(result["evaluations"], 10);
  bool own = false;
  for (const json& layout : result["layouts"])
    own |= layout["tensor"] == 4 && layout["pipeline"] == 2 && layout["micro_batch"] == 1;
  EXPECT_TRUE(own) << "beside the layout that the graph has";
  const json simulated = LanescopeJson({"simulate", best, "--json", "--machine", SampleMachine("dgx-h100")});
  EXPECT_EQ(simulated["step_ns"]["value"], result["best"]["step_ns"]);
}

// Law: layouts that the machine's GPUs cannot hold are no answers, and where none fits it says so.
TEST(Search, LayoutsFitTheMachine) {
  const Folder folder;
  const std::string graph = folder.File("gpt.pb");
  ASSERT_EQ(Lanescope({"make", "gpt", "--layers", "4", "--batch", "16", "--micro-batch", "1", "--tensor", "4",
                       "--pipeline", "2", "-o", graph})
                .status,
            0);
  const auto with_memory = [&](const char* memory) {
    json machine = json::parse(ReadText(SampleMachine("dgx-h100")));
    for (json& device : machine["devices"]) {
      if (device.contains("memory")) device["memory"] = memory;
    }
    return std::vector<std::string>{"search", graph, "--machine", folder.Write("M.json", machine.dump()),
                                    "--json"};
  };
  const json result = LanescopeJson(with_memory("4GiB"));
  for (const json& layout : result["layouts"]) EXPECT_LE(layout["memory_bytes"], int64_t{4} << 30);
  EXPECT_EQ(result["stages"].size(), result["best"]["pipeline"]);
  ExpectError(Lanescope(with_memory("64MiB")), 1, "ResourceExhausted", "takes the least");
}

// Law: where the GPUs hold less than one of them would need, a placer that heeds memory still gives a start,
// and what does not fit is said once.
TEST(Search, LittleMemoryLeavesAStart) {
  const Folder folder;
  json machine = json::parse(ReadText(SampleMachine("k80x2")));
  for (json& device : machine["devices"]) {
    if (device["name"] != "CPU:0") device["memory"] = "100MiB";
  }
  const std::string file = folder.Write("M.json", machine.dump());
  const json result =
      LanescopeJson({"search", Sample("deepconn_dual"), "--json", "--machine", file, "--rounds", "0"});
  bool heeded = false;
  for (const json& start : result["starts"])
    heeded |= start["strategy"].get<std::string>().find("% of the memory") != std::string::npos;
  EXPECT_TRUE(heeded) << result["starts"];
  const Outcome shown = Lanescope({"search", Sample("deepconn_dual"), "--machine", file, "--rounds", "0"});
  EXPECT_THAT(shown.output, HasSubstr("do not fit the devices' memory: "));
  for (json& device : machine["devices"]) device["memory"] = "1MiB";
  ExpectError(
      Lanescope({"search", Sample("deepconn_dual"), "--machine", folder.Write("M.json", machine.dump())}), 1,
      "ResourceExhausted", "placements to start from can be simulated");
}

// Gives what the ranks of `mpirun -n 2` print together, with the program's arguments behind it. OpenMPI keeps
// memory when it ends, which AddressSanitizer would call leaks of the program.
json UnderMpirun(const Folder& folder, const std::string& arguments) {
  const std::string output = folder.File("ranks.json");
  const int status = std::system(
      fmt::format("ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 "
                  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 '{}' {} > '{}' 2> /dev/null",
                  test::ProgramPath(), arguments, output)
          .c_str());
  EXPECT_EQ(status, 0);
  return json::parse(ReadText(output));
}

// Law: two processes find what one with twice the restarts finds, and say it once.
TEST(Search, MpirunSharesTheRestarts) {
  if (std::system("command -v mpirun > /dev/null 2>&1") != 0) GTEST_SKIP() << "mpirun is not installed";
  const Folder folder;
  const json one = Search({"--restarts", "2", "--start", "single,heft"});
  const json two =
      UnderMpirun(folder, fmt::format("search {} --json --machine {} --rounds 1 --start single,heft",
                                      Sample("deepconn_dual"), SampleMachine("k80x2")));
  EXPECT_EQ(two["best"], one["best"]);
  EXPECT_EQ(two["evaluations"], one["evaluations"]);
}

// Law: a rank that fails ends the job, before it has joined the others or after, and its line names it.
TEST(Search, ARankThatFailsEndsTheJobAndIsNamed) {
  if (std::system("command -v mpirun > /dev/null 2>&1") != 0) GTEST_SKIP() << "mpirun is not installed";
  const Folder folder;
  const std::string search =
      fmt::format("'{}' search {} --machine {} --rounds 1 --start single", test::ProgramPath(),
                  Sample("deepconn_dual"), SampleMachine("k80x2"));
  const auto notes_of = [&](const std::string& ranks) {
    const std::string notes = folder.File("notes");
    const int status = std::system(
        fmt::format("ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                    "timeout 100 mpirun --oversubscribe {} > /dev/null 2> '{}'",
                    ranks, notes)
            .c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
    return ReadText(notes);
  };
  EXPECT_THAT(notes_of(fmt::format("-n 1 {} : -n 1 '{}' search none.pb", search, test::ProgramPath())),
              HasSubstr("error: NotFound: rank 1 of 2 on "));
  EXPECT_THAT(notes_of(fmt::format("-n 2 {} -o /none/best.json", search)), HasSubstr(": rank 0 of 2 on "));
}

TEST(Search, UnknownStartsAreErrors) {
  ExpectError(Lanescope({"search", Sample("polynomial"), "--start", "best"}), 1, "NotFound", "best");
  EXPECT_EQ(Lanescope({"search", Sample("polynomial"), "--budget", "soon"}).status, 2);
  ExpectError(Lanescope({"search", Sample("polynomial"), "--start", "data-parallel"}), 1, "InvalidArgument",
              "writes another graph");
}

}  // namespace
}  // namespace lanescope::cli
