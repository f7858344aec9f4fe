// SPDX-License-Identifier: Apache-2.0
// The program on a computer with GPUs, by stubs of the driver and of CUDA.
#include <gmock/gmock.h>

#include "core/machine/machine.h"
#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

#ifdef LANESCOPE_STUB_CUDA
// On two GPUs.
Outcome WithGpus(const std::vector<std::string>& arguments, std::vector<std::string> environment = {}) {
  environment.insert(environment.end(), {std::string("LD_LIBRARY_PATH=") + LANESCOPE_STUB_DRIVER_DIR,
                                         std::string("LANESCOPE_CUDA_MODULE=") + LANESCOPE_STUB_CUDA,
                                         "STUB_GPUS=x,y", "LANESCOPE_NCCL_LIBRARY=/nonexistent"});
  return Process(arguments, "", environment).Wait();
}

json JsonWithGpus(const std::vector<std::string>& arguments) {
  const Outcome outcome = WithGpus(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  return json::parse(outcome.output, nullptr, false);
}

// Laws: `devices` says where rates come from, and what parts of a GPU really have.
TEST(Gpus, DevicesShowRatesAndWhereTheyComeFrom) {
  const Outcome detected = WithGpus({"devices"});
  ASSERT_EQ(detected.status, 0) << detected.errors;
  for (const char* part : {"Peak, TFLOP/s", "float16", "tf32", "float8", "66.9", "data sheet"})
    EXPECT_THAT(detected.output, HasSubstr(part));
  const Machine halves = ParseMachine(
      JsonWithGpus({"devices", "--machine", SampleMachine("one-gpu-as-two-halves"), "--json"}).dump());
  for (const DeviceId d : halves.Gpus()) {
    EXPECT_EQ(halves.device(d).multiprocessors, 64) << "of 132: groups of 8, and 4 in none";
    EXPECT_EQ(halves.device(d).rates, "data sheet");
  }
  EXPECT_THAT(WithGpus({"devices", "--machine", SampleMachine("one-gpu-as-two")}).output,
              HasSubstr("132 shared"));
}

// A host has no rate until it is measured: `heft` leaves what a GPU can do to the GPUs.
TEST(Gpus, HeftDoesNotPreferAHostWithoutRates) {
  const json placed = JsonWithGpus({"place", Sample("cifar10_single"), "--strategy", "heft", "--machine",
                                    SampleMachine("one-gpu-as-two"), "--json"});
  int on_host = 0, products = 0;
  for (const json& node : placed["nodes"]) {
    if (node["op"] != "Conv2D" && node["op"] != "MatMul") continue;
    ++products;
    on_host += node["device"].get<std::string>().find("CPU") != std::string::npos;
  }
  EXPECT_GT(products, 0);
  EXPECT_EQ(on_host, 0);
}

// Laws: without a trace nothing is timed; with one, commands in every other step, of which the trace holds
// the activities, and what is printed and stored as a step's time is that of the others. What steps compute
// is the same.
TEST(Gpus, CommandsAreTimedInStepsOfTheirOwn) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  const std::vector<std::string> run = {
      "run", Sample("two_towers_matmul"), "--machine", "physical", "--steps", "10", "--seed", "3"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  const json alone = JsonWithGpus(with({"--json"}));
  EXPECT_FALSE(alone.contains("timing"));
  EXPECT_THAT(WithGpus(run).output, Not(HasSubstr("timed")));
  const json traced = JsonWithGpus(with({"--json", "--trace", trace}));
  EXPECT_EQ(traced["timing"]["commands"], "events");
  EXPECT_EQ(traced["timing"]["untimed_steps"], 5);
  EXPECT_EQ(traced["steps"], 10);
  EXPECT_EQ(traced["fetches"], alone["fetches"]);
  const auto query = [&](const std::string& sql) {
    return LanescopeJson({"query", trace, sql, "--json"})["rows"];
  };
  EXPECT_EQ(query("SELECT count(*), min(step), max(step) FROM LANESCOPE_STEP"), json::parse("[[5, 0, 8]]"));
  EXPECT_EQ(query("SELECT count(*), min(step), max(step) FROM LANESCOPE_UNTIMED_STEP"),
            json::parse("[[5, 1, 9]]"));
  EXPECT_EQ(query("SELECT count(*) FROM LANESCOPE_ACTIVITY WHERE step % 2 = 1"), json::parse("[[0]]"));
  EXPECT_EQ(query("SELECT commands FROM LANESCOPE_TIMING"), json::parse(R"([["events"]])"));
  const json median = query(
      "SELECT stepMedianNs BETWEEN min(\"end\" - start) AND max(\"end\" - start) FROM LANESCOPE_RUN, "
      "LANESCOPE_UNTIMED_STEP");
  EXPECT_EQ(median, json::parse("[[1]]"));
  const Outcome text = WithGpus(with({"--trace", trace}));
  EXPECT_THAT(text.errors, Not(HasSubstr("captured"))) << "nobody asked for a profiler";
  EXPECT_THAT(text.output, HasSubstr("5 steps, "));
  EXPECT_THAT(
      text.output,
      HasSubstr("nothing in these steps was timed; commands of GPUs were in 5 others, by pairs of events"));
  EXPECT_THAT(WithGpus({"summary", trace, "--run", "1"}).output, HasSubstr("GPUs by pairs of events"));
}

// A run of one step with a trace has to time it.
TEST(Gpus, OneStepIsTimedWhereATraceIsAskedFor) {
  const Folder folder;
  const Outcome one = WithGpus({"run", Sample("two_towers_matmul"), "--machine", "physical", "--steps", "1",
                                "--trace", folder.File("t.db")});
  ASSERT_EQ(one.status, 0) << one.errors;
  EXPECT_THAT(one.output, HasSubstr("commands of GPUs were timed in these steps, by pairs of events"));
}

// The rows of a comparison and what is predicted of them.
TEST(Gpus, AComparisonSaysHowCommandsWereTimed) {
  const Folder folder;
  const std::vector<std::string> compare = {"compare",   Sample("two_towers_matmul") + ":single,tower-split",
                                            "--machine", "physical",
                                            "--rounds",  "2",
                                            "--steps",   "6",
                                            "--trace",   folder.File("t.db")};
  const Outcome text = WithGpus(compare);
  ASSERT_EQ(text.status, 0) << text.errors;
  EXPECT_THAT(text.output, HasSubstr("commands of GPUs in every other step, by pairs of events"));
}

#ifdef LANESCOPE_STUB_CUPTI
// Laws: where a profiler can be had it times the commands of all rows, each in its own run, and what is
// predicted is calibrated on its records. Without them, by events.
TEST(Gpus, AComparisonTakesItsTimesFromAProfiler) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  const auto compare = [&](const std::string& cupti, std::vector<std::string> more) {
    more.insert(more.begin(), {"compare", Sample("two_towers_matmul") + ":single,tower-split", "--machine",
                               "physical", "--rounds", "2", "--steps", "6", "--no-cuda-graph"});
    return WithGpus(more, {"LANESCOPE_CUPTI=" + cupti, "STUB_CUPTI_VERSION=130000", "STUB_CUPTI_COMMANDS=1"});
  };
  const Outcome captured = compare(LANESCOPE_STUB_CUPTI, {"--trace", trace, "--json"});
  ASSERT_EQ(captured.status, 0) << captured.errors;
  const json rows = json::parse(captured.output)["rows"];
  ASSERT_EQ(rows.size(), 2);
  for (const json& row : rows) {
    EXPECT_EQ(row["measured"]["timing"]["commands"], "profiler");
    EXPECT_EQ(row["measured"]["timing"]["pair_ns"], 0);
  }
  EXPECT_EQ(rows[0]["uncalibrated_share"], 0) << "every launch was measured";
  // By run: the second half of each round alone was recorded, and no command of the other row's schedule.
  const json recorded = LanescopeJson(
      {"query", trace,
       "SELECT r.runId, min(a.step % 6), max(a.commandId) < (SELECT count(*) FROM LANESCOPE_COMMAND c WHERE "
       "c.runId = r.runId), count(DISTINCT a.commandId) > 3 FROM LANESCOPE_ACTIVITY a JOIN LANESCOPE_PROCESS "
       "r USING (globalPid) WHERE r.runId < 3 GROUP BY r.runId",
       "--json"});
  EXPECT_EQ(recorded["rows"], json::parse("[[1, 3, 1, 1], [2, 3, 1, 1]]"));
  EXPECT_THAT(compare(LANESCOPE_STUB_CUPTI, {}).output,
              HasSubstr("second half of each round, by a profiler"));
  const Outcome without = compare("/nonexistent", {"--profile", "kernels"});
  EXPECT_THAT(without.output, HasSubstr("by pairs of events"));
  EXPECT_THAT(without.errors, HasSubstr("note: GPU activity is not captured"));
}
#endif

// Launches that are asked to be shared and cannot be, for want of what makes kernels, are told once.
TEST(Gpus, WithoutNvrtcSharedLaunchesAreSaidToBeApart) {
  const Outcome outcome = WithGpus({"run", Sample("polynomial"), "--machine", "physical", "--strategy",
                                    "single", "--fusion", "--steps", "2"},
                                   {"LANESCOPE_NVRTC_LIBRARY=/nonexistent"});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("note: on GPUs no launches are shared: NVRTC"));
  EXPECT_EQ(outcome.errors.find("note:"), outcome.errors.rfind("note:")) << outcome.errors;
}

// `--profile` without `--trace` captures nothing, and says so.
TEST(Gpus, AProfileWithoutATraceIsSaidToGoNowhere) {
  const Outcome outcome =
      WithGpus({"run", Sample("two_towers_matmul"), "--machine", "physical", "--profile", "kernels"});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors,
              HasSubstr("nothing is captured without --trace, where --profile kernels would go"));
}

// Samples that name tasks run in one process on parts of one GPU.
TEST(Gpus, TasksOfOneProcessShareAGpu) {
  const Outcome outcome =
      WithGpus({"run", Sample("mirrored_two"), "--machine", SampleMachine("one-gpu-as-two"), "--cluster",
                "worker=localhost:2", "--steps", "2"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
}
#endif

}  // namespace
}  // namespace lanescope::cli
