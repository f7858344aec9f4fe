// SPDX-License-Identifier: Apache-2.0
// Physical GPUs of several processes that mpirun started, by stubs of CUDA and CUPTI.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "core/machine/machine.h"
#include "tests/cli/mpirun.h"
#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

#ifdef LANESCOPE_STUB_CUDA
// A command whose process sees these GPUs, which a real NCCL, where there is one, would not join.
std::string WithGpus(const std::string& gpus, const std::string& command) {
  return fmt::format(
      "env LD_LIBRARY_PATH='{}' LANESCOPE_CUDA_MODULE='{}' LANESCOPE_NCCL_LIBRARY=/nonexistent STUB_GPUS={} "
      "PROGRAM {}",
      LANESCOPE_STUB_DRIVER_DIR, LANESCOPE_STUB_CUDA, gpus, command);
}

// Laws: without a file tasks of a host share its GPUs out, and fetch what they do on virtual ones; each has
// what its process sees; a GPU of two tasks ends the job before the first step.
TEST(Cluster, TasksHaveTheGpusThatTheyShareOut) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const Ranks two = Mpirun(
      folder, "-n 2 " + WithGpus("x,y", fmt::format("run {} --steps 3 --warmup 1 --json --timeout 60000 "
                                                    "--cluster worker=localhost:2",
                                                    Sample("mirrored_two"))));
  ASSERT_EQ(two.status, 0) << two.errors;
  const json one = LanescopeJson({"run", Sample("mirrored_two"), "--machine", SampleMachine("two-tasks"),
                                  "--steps", "3", "--warmup", "1", "--json"});
  EXPECT_EQ(json::parse(two.output)["fetches"], one["fetches"]);

  const std::string devices = "devices --cluster worker=localhost:2,127.0.0.1 --json";
  const Ranks three =
      Mpirun(folder, fmt::format("-n 2 {} : -n 1 {}", WithGpus("x,y", devices), WithGpus("z", devices)));
  ASSERT_EQ(three.status, 0) << three.errors;
  std::vector<int> physical;
  for (const DeviceSpec& device : ParseMachine(three.output).devices) {
    if (device.is_gpu()) physical.push_back(device.physical);
  }
  EXPECT_EQ(physical, (std::vector<int>{0, 1, 0})) << three.output;

  const std::string shared = folder.Write("shared.json", R"({"devices": [
    {"name": "/job:worker/task:0/GPU:0", "kind": "cuda", "physical": 1, "memory": "1GiB"},
    {"name": "/job:worker/task:1/GPU:0", "kind": "cuda", "physical": 1, "memory": "1GiB"}], "links": [
    {"between": ["/job:worker/task:0/CPU:0", "/job:worker/task:1/CPU:0"], "bandwidth": "1GB/s"}]})");
  const std::string single =
      fmt::format("run {} --strategy single --machine {}", Sample("polynomial"), shared);
  const Ranks refused = Mpirun(folder, "-n 2 " + WithGpus("x,y", single));
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.errors, HasSubstr("are the same physical GPU: give each task its own"));
}
#endif

#ifdef LANESCOPE_STUB_CUPTI
// Laws: the trace of the first process has what all captured; where one cannot capture none does, and it is
// named.
TEST(Cluster, CapturesOfAllProcessesAreOneTrace) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string trace = folder.File("t.db");
  const auto process = [&](const std::string& cupti) {
    return fmt::format("-n 1 env STUB_CUPTI_VERSION=130000 LANESCOPE_CUPTI='{}' ", cupti) +
           WithGpus("x,y",
                    fmt::format("run {} --steps 2 --cluster worker=localhost:2 --profile full --trace {} "
                                "--timeout 60000",
                                Sample("mirrored_two"), trace));
  };
  const Ranks both = Mpirun(folder, process(LANESCOPE_STUB_CUPTI) + " : " + process(LANESCOPE_STUB_CUPTI));
  ASSERT_EQ(both.status, 0) << both.errors;
  EXPECT_EQ(both.errors.find("not captured"), std::string::npos) << both.errors;
  const Ranks one = Mpirun(folder, process(LANESCOPE_STUB_CUPTI) + " : " + process("/nonexistent"));
  ASSERT_EQ(one.status, 0) << one.errors;
  EXPECT_THAT(one.errors, HasSubstr("note: GPU activity is not captured: rank 1 on "));
  const json clocks = LanescopeJson(
      {"query", trace,
       "SELECT runId, COUNT(DISTINCT globalPid) FROM LANESCOPE_CLOCK GROUP BY runId ORDER BY runId",
       "--json"});
  EXPECT_EQ(clocks["rows"], json::parse("[[1, 2]]")) << "of both processes of the first run";
}

// Laws: a job with a trace captures by itself; where one process cannot none does, and nobody is told.
TEST(Cluster, CapturesWhereAllProcessesCan) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const auto timing = [&](const std::string& second) {
    const auto process = [&](const std::string& cupti) {
      return fmt::format("-n 1 env STUB_CUPTI_VERSION=130000 LANESCOPE_CUPTI='{}' ", cupti) +
             WithGpus("x,y", fmt::format("run {} --steps 4 --json --cluster worker=localhost:2 --trace {} "
                                         "--timeout 60000",
                                         Sample("mirrored_two"), folder.File("t.db")));
    };
    const Ranks ranks = Mpirun(folder, process(LANESCOPE_STUB_CUPTI) + " : " + process(second));
    EXPECT_EQ(ranks.status, 0) << ranks.errors;
    EXPECT_EQ(ranks.errors.find("not captured"), std::string::npos) << ranks.errors;
    return json::parse(ranks.output)["timing"];
  };
  EXPECT_EQ(timing(LANESCOPE_STUB_CUPTI)["commands"], "profiler");
  const json pairs = timing("/nonexistent");
  EXPECT_EQ(pairs["commands"], "events");
  EXPECT_EQ(pairs["untimed_steps"], 2);
}

// Laws: the processes of a job time commands in the same steps, every other one; with no trace in none. What
// a step takes is said by the others.
TEST(Cluster, ProcessesTimeTheSameSteps) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string trace = folder.File("job.db");
  const std::string run = fmt::format("run {} --steps 6 --json --timeout 60000 --cluster worker=localhost:2",
                                      Sample("mirrored_two"));
  const Ranks traced = Mpirun(folder, "-n 2 " + WithGpus("x,y", run + " --trace " + trace));
  ASSERT_EQ(traced.status, 0) << traced.errors;
  EXPECT_EQ(json::parse(traced.output)["timing"]["untimed_steps"], 3);
  const auto query = [&](const std::string& sql) {
    return LanescopeJson({"query", trace, sql, "--json"})["rows"];
  };
  EXPECT_EQ(query("SELECT step FROM LANESCOPE_UNTIMED_STEP ORDER BY step"), json::parse("[[1], [3], [5]]"));
  EXPECT_EQ(query("SELECT DISTINCT step FROM LANESCOPE_ACTIVITY ORDER BY step"),
            json::parse("[[0], [2], [4]]"));
  EXPECT_EQ(
      query(
          "SELECT COUNT(DISTINCT n) FROM (SELECT step, COUNT(*) AS n FROM LANESCOPE_ACTIVITY GROUP BY step)"),
      json::parse("[[1]]"))
      << "a process left out a step";
  const Ranks alone = Mpirun(folder, "-n 2 " + WithGpus("x,y", run));
  ASSERT_EQ(alone.status, 0) << alone.errors;
  EXPECT_FALSE(json::parse(alone.output).contains("timing"));
  EXPECT_EQ(json::parse(alone.output)["fetches"], json::parse(traced.output)["fetches"]);
}
#endif

}  // namespace
}  // namespace lanescope::cli
