// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<std::string> Searched(std::vector<std::string> more) {
  std::vector<std::string> command = {"search",      "llama-3-8b",     "--plans", "--machine",
                                      "dgx-h100:64", "--global-batch", "128"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

// The search's answer is what `simulate --plan` says, in time and memory.
TEST(Plans, TheBestIsWhatItsSimulationSays) {
  const json found = LanescopeJson(Searched({"--json"}));
  ASSERT_GE(found["plans"].size(), 2u);
  EXPECT_LE(found["plans"][0]["step_ns"]["value"], found["plans"][1]["step_ns"]["value"]);
  EXPECT_LT(found["lower_bound_ns"], found["best"]["step_ns"]["value"]);
  EXPECT_GE(found["plans_per_s"], 500.0);
  const json simulated = LanescopeJson({"simulate", "llama-3-8b", "--plan", found["best"]["plan"],
                                        "--machine", "dgx-h100:64", "--global-batch", "128", "--json"});
  EXPECT_EQ(simulated["step_ns"], found["best"]["step_ns"]);
  EXPECT_EQ(simulated["memory"], found["best"]["memory"]);
  EXPECT_TRUE(simulated["fits"]);
}

TEST(Plans, AFileWithAShapeIsAModel) {
  const Folder folder;
  const std::string path = folder.Write(
      "mine.json", R"({"layers": 12, "hidden": 768, "heads": 12, "ffn": 3072, "vocabulary": 50304})");
  EXPECT_THAT(Lanescope({"simulate", path, "--plan", "dp=8,micro=4", "--machine", "dgx-a100:8",
                         "--global-batch", "64"})
                  .output,
              HasSubstr("tokens a second and GPU"));
}

TEST(Plans, LaunchTextIsForTheBest) {
  const Outcome torchtitan = Lanescope(Searched({"--launch", "torchtitan"}));
  EXPECT_THAT(torchtitan.output, HasSubstr("--training.global_batch_size 128"));
  EXPECT_THAT(Lanescope(Searched({"--launch", "megatron"})).output,
              HasSubstr("--tensor-model-parallel-size"));
  EXPECT_THAT(Lanescope(Searched({"--launch", "pytorch"})).output, HasSubstr("init_device_mesh"));
  EXPECT_THAT(Lanescope(Searched({"--launch", "megatron", "--loss", "fused"})).output,
              HasSubstr("--cross-entropy-loss-fusion"));
  EXPECT_THAT(Lanescope(Searched({"--launch", "pytorch", "--loss", "fused"})).output,
              HasSubstr("torch.compile(torch.nn.functional.cross_entropy)"));
}

// The trace of a plan holds the step that is printed, a GPU of each stage, and its waits by name.
TEST(Plans, ATraceHoldsTheStepByStage) {
  const Folder folder;
  const std::string trace = folder.File("plan.db");
  const json report =
      LanescopeJson({"simulate", "llama-3-8b", "--plan", "dp=8,tp=2,pp=4,shard=zero1,sp", "--machine",
                     "dgx-h100:64", "--global-batch", "64", "--trace", trace, "--json"});
  const json summary = LanescopeJson({"summary", trace, "--json"});
  ASSERT_EQ(summary["devices"].size(), 4u);
  EXPECT_EQ(summary["devices"][1]["device"], "stage 1: GPU:16");
  EXPECT_EQ(summary["devices"][0]["window_ns"], report["step_ns"]["value"]);
  const Outcome text = Lanescope({"summary", trace});
  EXPECT_THAT(text.output, HasSubstr("dp=8,tp=2,pp=4,shard=zero1,micro=1,sp, simulated"));
  for (const char* name : {"forward", "backward", "optimizer", "NCCL tensor, exposed", "NCCL send, exposed",
                           "NCCL all-gather, hidden", "NCCL reduce-scatter, exposed", "bubble: fill",
                           "bubble: drain", "waits for stage "})
    EXPECT_THAT(text.output, HasSubstr(name));
  // Waiting is no work.
  EXPECT_GT(summary["devices"][0]["idle_ns"], report["parts_ns"]["stragglers"]);
}

// An export from `meta` has no values and ops that are known by cost alone.
TEST(Plans, WhatDoesNotRunIsSaidBesideItsPlan) {
  const Outcome outcome = Lanescope({"search", test::SourceDir() + "/samples/torch/mine.pb", "--plans",
                                     "--machine", "dgx-h200:8", "--global-batch", "8", "--verify", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("not run here: the graph does not run"));
}

// A machine by name is as good as its file.
TEST(Plans, MachinesOfGraphsHaveNamesToo) {
  const Folder folder;
  const std::string file = folder.File("h100.json");
  ASSERT_EQ(Lanescope({"devices", "--make", "h100x2", "-o", file}).status, 0);
  const auto simulated = [&](const std::string& machine) {
    return LanescopeJson(
        {"simulate", Sample("polynomial"), "--strategy", "single", "--machine", machine, "--json"});
  };
  EXPECT_EQ(simulated("h100x2")["step_ns"], simulated(file)["step_ns"]);
  EXPECT_THAT(Lanescope({"devices", "--machines"}).output, HasSubstr("dgx-h100"));
}

TEST(Plans, BadInputIsOneLineWithTheNearest) {
  const std::pair<std::vector<std::string>, const char*> kCommands[] = {
      {{"simulate", "llama-3-8b", "--plan", "tp=16", "--machine", "dgx-h100:16", "--global-batch", "8",
        "--launch", "pytorch"},
       "pytorch cannot share 8 heads of keys and values among tp=16 GPUs: take tp=8"},
      {{"simulate", "llama-3-8b", "--plan", "dp=2,tp=3", "--machine", "dgx-h100:6", "--global-batch", "8"},
       "tp=3 does not divide 32 heads; the nearest that does is tp=2"},
      {{"simulate", "llama-3-8b", "--plan", "dp=8,micro=3", "--machine", "dgx-h100:8", "--global-batch",
        "32"},
       "the nearest that is one is 24"},
      {{"simulate", "llama-4", "--plan", "dp=8", "--machine", "dgx-h100:8", "--global-batch", "32"},
       "did you mean"},
      {{"search", Sample("polynomial"), "--plans", "--machine", "dgx-h100:8", "--global-batch", "8"},
       "is no model's shape"},
      {{"simulate", "llama-3-8b", "--plan", "dp=8", "--machine", "dgx-h100:9x", "--global-batch", "32"},
       "no number stands there"},
      {{"simulate", "llama-3-8b", "--plan", "dp=12", "--machine", "dgx-h100:12", "--global-batch", "24"},
       "12 GPUs are not whole nodes of 8: take 8 GPUs, or nodes=2"},
      {{"simulate", "llama-3-8b", "--plan", "dp=8", "--machine", "foo", "--global-batch", "32"},
       "'foo': there is no such kind of machine; `lanescope devices --machines` lists them"},
      {{"simulate", "llama-3-8b", "--plan", "dp=8", "--machine", "dgx-h10:8", "--global-batch", "32"},
       "did you mean dgx-h100?"},
      {{"simulate", "llama-3-8b", "--plan", "dp=8", "--machine", "dgx-h100:8,foo=1", "--global-batch", "32"},
       "'foo=1': there is no such setting"},
      {{"simulate", "llama-3-8b", "--plan", "dp=8", "--machine", "dgx-h100:8", "--global-batch", "8.5"},
       "must be a whole number from 1 to 10000000, not '8.5'"},
      {{"simulate", "llama-3-8b", "--plan", "dp=8", "--machine", "dgx-h100:8", "--global-batch", "8",
        "--sequence", "1e3"},
       "must be a whole number from 1 to 100000000, not '1e3'"},
      {{"simulate", "no-such.pb", "--plan", "dp=8", "--machine", "dgx-h100:8", "--global-batch", "8"},
       "no such file: no-such.pb"},
      {{"simulate", "llama-3-8b", "--plan", "dp=8", "--machine", "dgx-h100:8", "--global-batch", "1000000",
        "--trace", "never.db"},
       "a timeline shows up to 100000 passes"},
      {{"simulate", "llama-3-8b", "--plan", "dp=8", "--global-batch", "32"}, "--machine dgx-h100:64"},
      {{"search", "llama-3-8b", "--plans", "--machine", "dgx-h100:8"}, "--global-batch"},
      {{"search", "llama-3-8b", "--plans", "--machine", "dgx-h100:8", "--rounds", "3"}, "--rounds"},
      {{"search", "llama-3-8b", "--machine", "dgx-h100:8", "--global-batch", "3"}, "give --plans"},
      {{"search", "llama-3.1-405b", "--plans", "--machine", "dgx-h100:8", "--global-batch", "8"},
       "takes the least"}};
  for (const auto& [command, part] : kCommands) {
    const Outcome outcome = Lanescope(command);
    EXPECT_NE(outcome.status, 0);
    EXPECT_EQ(outcome.output, "");
    EXPECT_THAT(outcome.errors, HasSubstr(part));
    EXPECT_THAT(outcome.errors, testing::StartsWith("error: "));
    EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
  }
}

}  // namespace
}  // namespace lanescope::cli
