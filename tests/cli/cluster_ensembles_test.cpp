// SPDX-License-Identifier: Apache-2.0
// Ensembles whose networks are of several processes, started by mpirun on this computer.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "tests/cli/mpirun.h"
#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Laws: an ensemble of several processes, as sessions or in one graph, fetches the bits of one process that
// plays all tasks, other ones for each network; the first one's table and trace have the networks of all, on
// their devices.
TEST(Cluster, EnsemblesAreOfAllProcesses) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  GraphBuilder builder;
  const Endpoint shape = builder.Const("shape", Tensor::FromValues(Shape{1}, std::vector<int32_t>{4}));
  builder.Op("RandomUniform", "drawn").Input(shape).Attr("dtype", AttrValue(DataType::kFloat)).Build();
  const std::string graph = folder.Write("network.pbtxt", GraphToText(builder.graph()));
  folder.Write("network.run.json", R"({"fetches": ["drawn"]})");
  for (const std::string how : {"", "--in-graph"}) {
    const std::string run =
        fmt::format("run {} --machine {} --replicas {} --seed 7 --steps 3 --warmup 1 --json", graph,
                    SampleMachine("four-tasks"), how);
    const std::string trace = folder.File(how + ".db"), files = folder.File("all" + how),
                      files_of_one = folder.File("one" + how);
    const Ranks four =
        Mpirun(folder,
               fmt::format("--bind-to none -n 4 PROGRAM {} --trace {} --save-fetches {}", run, trace, files));
    ASSERT_EQ(four.status, 0) << four.errors;
    const json all = json::parse(four.output);
    const Ranks alone = Mpirun(folder, fmt::format("-n 1 PROGRAM {} --save-fetches {}", run, files_of_one));
    ASSERT_EQ(alone.status, 0) << alone.errors;
    const json one = json::parse(alone.output);
    ASSERT_EQ(all["replicas"].size(), 4U);
    EXPECT_EQ(all["ranks"].size(), 4U);
    std::set<int> runs;
    std::set<std::string> drawn;
    for (size_t r = 0; r < 4; ++r) {
      const json& replica = all["replicas"][r];
      EXPECT_EQ(replica["fetches"], one["replicas"][r]["fetches"]) << r;
      EXPECT_EQ(replica["device"], fmt::format("/job:worker/task:{}/GPU:0", r));
      EXPECT_EQ(replica["steps"], 3);
      EXPECT_GT(replica["steps_per_s"], 0);
      drawn.insert(replica["fetches"].dump());
      runs.insert(replica["run"].get<int>());
      const std::string file = fmt::format("/replica_{}/step000003_drawn.npy", r);
      EXPECT_EQ(ReadText(files + file), ReadText(files_of_one + file)) << r;
      EXPECT_FALSE(ReadText(files + file).empty()) << r;
    }
    EXPECT_EQ(drawn.size(), 4U);
    EXPECT_EQ(runs.size(), how.empty() ? 4U : 1U);
    EXPECT_GT(all["alone_steps_per_s"], 0);
    const json used = LanescopeJson(
        {"query", trace, "SELECT COUNT(DISTINCT deviceId) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL", "--json"});
    EXPECT_EQ(used["rows"][0][0], 4) << used;
  }
}

// Law: a network that one process cannot run ends all, and one line names the process.
TEST(Cluster, AFailedNetworkNamesItsProcess) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string machine = folder.Write("machine.json", R"({"devices": [
      {"name": "/job:w/task:0/CPU:0", "kind": "host"},
      {"name": "/job:w/task:0/GPU:0", "kind": "virtual", "memory": "1GiB"},
      {"name": "/job:w/task:1/CPU:0", "kind": "host"},
      {"name": "/job:w/task:1/GPU:0", "kind": "virtual", "memory": "1MiB"}],
    "links": [
      {"between": ["/job:w/task:0/CPU:0", "/job:w/task:0/GPU:0"], "bandwidth": "8GB/s"},
      {"between": ["/job:w/task:1/CPU:0", "/job:w/task:1/GPU:0"], "bandwidth": "8GB/s"},
      {"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"}]})");
  const Ranks two = Mpirun(folder, fmt::format("-n 2 PROGRAM run {} --machine {} --replicas --steps 3",
                                               Sample("deepconn_single"), machine));
  EXPECT_EQ(two.status, 1);
  EXPECT_TRUE(two.output.empty()) << two.output;
  EXPECT_THAT(two.errors, HasSubstr("error: ResourceExhausted: rank 1 of 2 on "));
  EXPECT_EQ(two.errors.find("error: "), two.errors.rfind("error: ")) << two.errors;
}

}  // namespace
}  // namespace lanescope::cli
