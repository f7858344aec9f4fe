// SPDX-License-Identifier: Apache-2.0
// Steps that several processes run together, started by mpirun on this computer.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "core/machine/machine.h"
#include "tests/cli/mpirun.h"
#include "tests/cli/program.h"
#include "tests/support/collective_graph.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Laws: two processes fetch the bits of one that plays both tasks, and say it once; the trace of the first
// holds what both did.
TEST(Cluster, TwoProcessesAreOneRun) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string trace = folder.File("two.db"), machine = SampleMachine("two-tasks");
  for (const auto& [graph, strategy] :
       std::vector<std::pair<std::string, std::string>>{{"deepconn_dual", "tower-split"},
                                                        {"mirrored_two", "annotated"},
                                                        {"cifar10_towers", "alternating"}}) {
    const Ranks two =
        Mpirun(folder, fmt::format("-n 2 PROGRAM {} --trace {}", RunOf(graph, machine, strategy), trace));
    ASSERT_EQ(two.status, 0) << two.errors;
    const json one = LanescopeJson({"run", Sample(graph), "--machine", machine, "--strategy", strategy,
                                    "--steps", "3", "--warmup", "1", "--json"});
    EXPECT_EQ(json::parse(two.output)["fetches"], one["fetches"]) << graph;
  }
  const json devices = LanescopeJson(
      {"query", trace, "SELECT COUNT(DISTINCT deviceId) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL", "--json"});
  EXPECT_GE(devices["rows"][0][0], 2) << devices;
  const json tasks =
      LanescopeJson({"query", trace,
                     "SELECT name, process LIKE 'rank ' || task || ' on %' FROM LANESCOPE_TASK "
                     "WHERE runId = 1 ORDER BY task",
                     "--json"});
  EXPECT_EQ(tasks["rows"], json::parse(R"([["/job:worker/task:0", 1], ["/job:worker/task:1", 1]])"));
}

// Laws: --cluster is the machine file's tasks without a file; two processes fetch what one does; a process on
// another host than its task's is told before the first step.
TEST(Cluster, TasksAreNamedOnTheCommandLine) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string each = SampleMachine("two-virtual-gpus");
  const std::string cluster = "ps=localhost,worker=localhost:1";
  const Ranks two = Mpirun(folder, fmt::format("-n 2 PROGRAM {} --cluster {}",
                                               RunOf("deepconn_dual", each, "tower-split"), cluster));
  ASSERT_EQ(two.status, 0) << two.errors;
  const json one = LanescopeJson({"run", Sample("deepconn_dual"), "--machine", each, "--cluster", cluster,
                                  "--strategy", "tower-split", "--steps", "3", "--warmup", "1", "--json"});
  const json result = json::parse(two.output);
  EXPECT_EQ(result["fetches"], one["fetches"]);
  EXPECT_EQ(result["ranks"][0]["task"], "/job:ps/task:0");
  EXPECT_EQ(result["ranks"][1]["task"], "/job:worker/task:0");
  const Ranks elsewhere =
      Mpirun(folder, fmt::format("-n 2 PROGRAM {} --cluster worker=localhost,no-such-node",
                                 RunOf("polynomial", each, "single")));
  EXPECT_EQ(elsewhere.status, 1);
  EXPECT_THAT(elsewhere.errors, HasSubstr("but the cluster has its task /job:worker/task:1 on no-such-node"));
}

// Law: tensors of fewer bits between tasks are the same bits whoever plays the tasks, and others than
// float32's.
TEST(Cluster, FormatsBetweenTasksAreOfTheStep) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string machine = SampleMachine("two-tasks");
  std::set<std::string> results;
  for (const char* wire : {"float32", "bfloat16", "int8"}) {
    const Ranks two = Mpirun(folder, fmt::format("-n 2 PROGRAM {} --wire {}",
                                                 RunOf("deepconn_dual", machine, "tower-split"), wire));
    ASSERT_EQ(two.status, 0) << two.errors;
    const json one =
        LanescopeJson({"run", Sample("deepconn_dual"), "--machine", machine, "--strategy", "tower-split",
                       "--steps", "3", "--warmup", "1", "--wire", wire, "--json"});
    EXPECT_EQ(json::parse(two.output)["fetches"], one["fetches"]) << wire;
    results.insert(one["fetches"].dump());
  }
  EXPECT_EQ(results.size(), 3U);
}

// Bytes of a format are a half and about a quarter; losses are near those of float32.
TEST(Cluster, ComparisonsShowFormatsBesideFloat32) {
  const Folder folder;
  const std::vector<std::string> command = {"compare",   Sample("deepconn_dual") + ":tower-split",
                                            "--machine", SampleMachine("two-tasks"),
                                            "--steps",   "2",
                                            "--rounds",  "2",
                                            "--repeats", "1",
                                            "--wire",    "bfloat16"};
  std::vector<std::string> as_json = command, as_table = command;
  as_json.emplace_back("--json");
  as_table.emplace_back("--no-run");
  const json rows = LanescopeJson(as_json)["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["wire"], "float32");
  EXPECT_EQ(rows[1]["wire"], "bfloat16");
  const auto bytes = [&](size_t row) { return rows[row]["between_tasks"]["bytes"].get<double>(); };
  EXPECT_NEAR(bytes(1) / bytes(0), 0.5, 0.01);
  const json &exact = rows[0]["measured"]["losses"], &losses = rows[1]["measured"]["losses"];
  ASSERT_EQ(exact.size(), losses.size());
  ASSERT_GE(exact.size(), 4U);
  EXPECT_NE(exact, losses);
  for (size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(losses[i].get<double>() / exact[i].get<double>(), 1, 0.05) << i;
  const std::string table = Lanescope(as_table).output;
  EXPECT_THAT(table, HasSubstr("Between tasks, a step"));
  EXPECT_THAT(table, HasSubstr("deepconn_dual tower-split, bfloat16"));
}

// Four processes fetch the bits of one: their gradients are added up by messages around all of them.
TEST(Cluster, FourProcessesTrainAsOne) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string machine = SampleMachine("four-tasks");
  const Ranks four = Mpirun(
      folder, fmt::format("--bind-to none -n 4 PROGRAM {}", RunOf("mirrored_four", machine, "annotated")));
  ASSERT_EQ(four.status, 0) << four.errors;
  const json one = LanescopeJson({"run", Sample("mirrored_four"), "--machine", machine, "--strategy",
                                  "annotated", "--steps", "3", "--warmup", "1", "--json"});
  const json result = json::parse(four.output);
  EXPECT_EQ(result["fetches"], one["fetches"]);
  ASSERT_EQ(result["ranks"].size(), 4U);
  EXPECT_EQ(result["ranks"][3]["task"], "/job:worker/task:3");
}

// Law: collectives of processes, by every algorithm and as costs least, fetch the bits of one process that
// plays all tasks, the first of which has two devices.
TEST(Cluster, CollectivesOfProcessesAreThoseOfOne) {
  SKIP_WITHOUT_MPIRUN();
  for (const int tasks : {2, 4}) {
    const Folder folder;
    std::vector<std::string> devices = {"/job:worker/replica:0/task:0/device:GPU:1"};
    for (int task = 0; task < tasks; ++task)
      devices.push_back(fmt::format("/job:worker/replica:0/task:{}/device:GPU:0", task));
    const test::CollectiveGraph collectives(devices);
    const std::string graph = folder.Write("all.pbtxt", GraphToText(collectives.graph()));
    folder.Write("all.run.json", json({{"fetches", collectives.fetches()}}).dump());
    const std::string cluster = fmt::format("worker=localhost:{}", tasks);
    const std::string machine = SampleMachine("two-virtual-gpus");
    const Ranks ranks = Mpirun(
        folder, fmt::format("--bind-to none -n {} PROGRAM run {} --machine {} --cluster {} --steps 1 --json",
                            tasks, graph, machine, cluster));
    ASSERT_EQ(ranks.status, 0) << ranks.errors;
    const json one =
        LanescopeJson({"run", graph, "--machine", machine, "--cluster", cluster, "--steps", "1", "--json"});
    ASSERT_EQ(one["fetches"].size(), collectives.fetches().size());
    EXPECT_EQ(json::parse(ranks.output)["fetches"], one["fetches"]) << tasks;
  }
}

// Law: --all-reduce says how; who sums in another order sums to other bits.
TEST(Cluster, AllReducesAreDoneAsIsSaid) {
  const Folder folder;
  const test::CollectiveGraph collectives({"/device:GPU:0", "/device:GPU:1", "/device:CPU:0"});
  const std::string graph = folder.Write("all.pbtxt", GraphToText(collectives.graph()));
  const auto nodes = [&](const std::string& by) {
    return LanescopeJson({"place", graph, "--machine", SampleMachine("two-virtual-gpus"), "--fetch",
                          "all-reduce/0", "--all-reduce", by, "--json"})["nodes"]
        .dump();
  };
  EXPECT_NE(nodes("hierarchical"), nodes("ring"));
  EXPECT_THAT(Lanescope({"run", graph, "--all-reduce", "star"}).errors, HasSubstr("hierarchical"));
}

// Law: while a message is under way devices compute what does not wait for it. A message of 400 ms reaches a
// task that copies a tensor to its GPU, back and there again, for 100 ms each; at least the first of the
// three kernels between begins and ends before the message does. What it is for waits for its 400 ms (less
// what clocks may be apart), but not for its sender to notice the end.
TEST(Cluster, DevicesComputeWhileMessagesAreUnderWay) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string machine = folder.Write("machine.json", R"({"devices": [
      {"name": "/job:w/task:0/CPU:0", "kind": "host"}, {"name": "/job:w/task:1/CPU:0", "kind": "host"},
      {"name": "/job:w/task:1/GPU:0", "memory": "1GiB"}],
    "links": [
      {"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s", "latency": "400ms"},
      {"between": ["/job:w/task:1/CPU:0", "/job:w/task:1/GPU:0"], "bandwidth": "1GB/s", "latency": "100ms"}
    ]})");
  GraphBuilder builder;
  const auto negated = [&](const char* name, Endpoint of, const char* device) {
    return builder.Op("Neg", name).Input(of).Device(device).Build();
  };
  const char *host = "/job:w/task:1/device:CPU:0", *gpu = "/job:w/task:1/device:GPU:0";
  negated("arrives", builder.Const("sent", Tensor::Scalar(1.0f), "/job:w/task:0/device:CPU:0"), host);
  const Endpoint own = builder.Const("own", Tensor::Scalar(1.0f), host);
  negated("third", negated("second", negated("first", own, gpu), host), gpu);
  const std::string graph = folder.Write("overlap.pbtxt", GraphToText(builder.graph()));
  const std::string trace = folder.File("t.db");
  const Ranks two = Mpirun(folder, fmt::format("--bind-to none -n 2 PROGRAM run {} --machine {} --trace {} "
                                               "--target arrives --target third --steps 1 --warmup 0",
                                               graph, machine, trace));
  ASSERT_EQ(two.status, 0) << two.errors;
  const auto kernels = [&](const std::string& which) {
    return LanescopeJson({"query", trace,
                          "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                          "JOIN StringIds node ON node.id = k.demangledName "
                          "JOIN CUPTI_ACTIVITY_KIND_MEMCPY c ON c.copyKind = 9 WHERE " +
                              which,
                          "--json"})["rows"][0][0]
        .get<int>();
  };
  EXPECT_GE(kernels(R"(k.start > c.start AND k."end" < c."end" AND node.value <> 'arrives')"), 1);
  EXPECT_EQ(kernels("node.value = 'arrives' AND k.start >= c.start + 390000000"), 1);
}

// The first of the processes compares what all measured, and says it once; the trace has runs of both tasks.
TEST(Cluster, ComparisonsAndCostsAreOfAllProcesses) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string trace = folder.File("t.db");
  const Ranks two = Mpirun(
      folder,
      fmt::format(
          "--bind-to none -n 2 PROGRAM compare {}:alternating,single --machine {} --steps 3 --rounds 2 "
          "--repeats 1 --trace {} --json",
          Sample("polynomial"), SampleMachine("two-tasks"), trace));
  ASSERT_EQ(two.status, 0) << two.errors;
  const json rows = json::parse(two.output)["rows"];
  ASSERT_EQ(rows.size(), 2U);
  for (const json& row : rows) {
    EXPECT_TRUE(row["failed"].is_null()) << row;
    EXPECT_GE(row["measured"]["disturbed"]["of"], 6) << row;  // of them count those that nobody disturbed
    EXPECT_GT(row["predicted"]["step_ns"]["value"], 0) << row;
  }
  EXPECT_GT(rows[0]["between_tasks"]["messages"], 0);
  EXPECT_EQ(rows[1]["between_tasks"]["messages"], 0);
  const json devices = LanescopeJson(
      {"query", trace, "SELECT COUNT(DISTINCT deviceId) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL", "--json"});
  EXPECT_GE(devices["rows"][0][0], 2) << devices;
  const json kept =
      LanescopeJson({"query", trace, "SELECT costs FROM LANESCOPE_COST_MODEL LIMIT 1", "--json"});
  ASSERT_EQ(kept["rows"].size(), 1U);
  const json gaps = json::parse(kept["rows"][0][0].get<std::string>())["gaps"];
  EXPECT_GT(gaps["message_overhead_ns"], 0) << "what messages ask of processors is measured";
  EXPECT_GT(gaps["handoff_ns"]["signal"], 0);
  const Ranks costs = Mpirun(folder, fmt::format("-n 2 PROGRAM calibrate {} --no-microbenchmarks -o {}",
                                                 trace, folder.File("cost.json")));
  ASSERT_EQ(costs.status, 0) << costs.errors;
  EXPECT_THAT(costs.output, HasSubstr("ops calibrated on run 1"));
  EXPECT_EQ(costs.output.find("calibrated"), costs.output.rfind("calibrated")) << "once";
}

// Every pair of four processes, and their links; the first one measures the rates of all on its computer.
TEST(Cluster, TheNetworkOfFourIsMeasured) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string made = folder.File("measured.json");
  const std::string modelled =
      folder.Write("one.json", R"({"devices": [{"name": "CPU:0", "kind": "host"}]})");
  const Ranks four = Mpirun(folder, fmt::format("--bind-to none -n 4 PROGRAM devices --machine {} --cluster "
                                                "worker=localhost:2,127.0.0.1:2 --measure -o {}",
                                                modelled, made));
  ASSERT_EQ(four.status, 0) << four.errors;
  for (const char* pair :
       {"task:0 <-> /job:worker/task:1", "task:0 <-> /job:worker/task:3", "task:2 <-> /job:worker/task:3"})
    EXPECT_THAT(four.output, HasSubstr(pair));
  const size_t measured = four.output.find("Measured by rank 0 on ");
  EXPECT_NE(measured, std::string::npos) << four.output;
  EXPECT_EQ(four.output.find("Measured by ", measured + 1), std::string::npos) << "once";
  const Machine machine = ReadMachine(made);
  for (const DeviceSpec& device : machine.devices)
    EXPECT_EQ(device.peak_flops, machine.devices[DeviceId(0)].peak_flops) << device.local_name();
  EXPECT_GT(machine.devices[DeviceId(3)].memory_bandwidth, 0);
  ASSERT_EQ(machine.links.size(), 6U);
  for (const LinkSpec& link : machine.links) EXPECT_GE(link.table.size(), 8U);
  ASSERT_EQ(machine.nics.size(), 2U);
  for (const NicSpec& nic : machine.nics) EXPECT_NE(nic.bandwidth, 1e9) << "not what is assumed without";
}

// Law: processes that srun started are a job as mpirun's are, where its plug-in joins them (what it leaves in
// the environment is faked here, what joins them is mpirun's); else they say so, and none runs the whole.
TEST(Cluster, SrunStartsAJob) {
  const Folder folder;
  const std::string errors = folder.File("srun_errors"), machine = SampleMachine("two-tasks");
  const std::string run = RunOf("deepconn_dual", machine, "tower-split");
  const std::string slurm = "SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=1 SLURM_PROCID";
  EXPECT_NE(
      std::system(fmt::format("{}=1 '{}' {} < /dev/null > '{}' 2>&1", slurm, test::ProgramPath(), run, errors)
                      .c_str()),
      0);
  EXPECT_THAT(ReadText(errors), HasSubstr("error: FailedPrecondition: rank 1 of 2 on "));
  EXPECT_THAT(ReadText(errors), HasSubstr("--mpi=pmix"));
  SKIP_WITHOUT_MPIRUN();
  const Ranks two = Mpirun(
      folder,
      fmt::format("-n 2 sh -c \"{}=\\$PMIX_RANK exec env -u OMPI_COMM_WORLD_SIZE -u OMPI_COMM_WORLD_RANK "
                  "-u OMPI_COMM_WORLD_LOCAL_SIZE PROGRAM {}\"",
                  slurm, run));
  ASSERT_EQ(two.status, 0) << two.errors;
  const json found = json::parse(two.output);
  EXPECT_EQ(found["ranks"].size(), 2u);
  EXPECT_EQ(found["fetches"],
            LanescopeJson({"run", Sample("deepconn_dual"), "--machine", machine, "--strategy", "tower-split",
                           "--steps", "3", "--warmup", "1", "--json"})["fetches"]);
}

}  // namespace
}  // namespace lanescope::cli
