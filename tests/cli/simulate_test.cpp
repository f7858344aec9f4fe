// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

#include "core/machine/machine.h"
#include "sims/cost/cost_table.h"
#include "tests/cli/program.h"
#include "tests/support/paths.h"
#include "tests/support/recorded_cases.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

void ExpectPrediction(const json& result) {
  for (const char* key : {"value", "low", "high"})
    EXPECT_TRUE(result["step_ns"][key].is_number_integer()) << key;
  EXPECT_LE(result["step_ns"]["low"], result["step_ns"]["value"]);
  EXPECT_LE(result["step_ns"]["value"], result["step_ns"]["high"]);
  EXPECT_TRUE(result["commands"].is_number_integer() && result["wall_ns"].is_number_integer());
  for (const char* device : {"CPU:0", "GPU:0", "GPU:1"}) {
    EXPECT_TRUE(result["busy"][device].is_number()) << device;
    EXPECT_LE(result["busy"][device], 1.0 + 1e-9);
    EXPECT_TRUE(result["peak_bytes"][device].is_number_integer()) << device;
  }
  for (const char* kind : {"device_to_device", "within_device", "host_to_device", "device_to_host"}) {
    for (const char* key : {"count", "bytes", "ns"})
      EXPECT_TRUE(result["copies"][kind][key].is_number_integer()) << kind << " " << key;
  }
}

TEST(Simulate, JsonHasTheKeysOfTheContract) {
  const json result = LanescopeJson({"simulate", Sample("polynomial"), "--strategy", "alternating", "--json",
                                     "--machine", SampleMachine("k80x2")});
  ExpectPrediction(result);
  EXPECT_GT(result["copies"]["device_to_device"]["count"], 0);
}

TEST(Simulate, IsTheSameEveryTime) {
  const auto run = [] {
    json result =
        LanescopeJson({"simulate", Sample("deepconn_dual"), "--json", "--machine", SampleMachine("k80x2")});
    result.erase("wall_ns");
    return result;
  };
  EXPECT_EQ(run(), run());
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(Simulate, SaysFirstThatAMachineFileHasNoRates) {
  const Outcome outcome =
      Lanescope({"simulate", Sample("deepconn_dual"), "--machine", SampleMachine("one-gpu-as-two")});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(FirstLine(outcome.output), HasSubstr("nothing to go by"));
  EXPECT_THAT(FirstLine(outcome.output), HasSubstr("no rates for CPU:0, GPU:0, GPU:1"));
  const json with_rates =
      LanescopeJson({"simulate", Sample("deepconn_dual"), "--json", "--machine", SampleMachine("k80x2")});
  EXPECT_TRUE(with_rates["caveat"].is_null()) << with_rates["caveat"];
}

// A cost file of one op says nothing of a convolutional network.
TEST(Simulate, SaysFirstThatAStepLiesOutsideOfItsCalibration) {
  const Folder folder;
  const Machine machine = ReadMachine(SampleMachine("k80x2"));
  sims::CostTable table;
  table.calibrated_on = "three Relus";
  for (int64_t n = 1; n <= 3; ++n) {
    sims::LaunchCost cost;
    cost.signature = fmt::format("Relu(float[{}])->float[{}]", n, n);
    cost.op = "Relu";
    cost.device = sims::CostDevice(machine.device(machine.Gpus()[0]));
    cost.ns = 1000 + n;
    cost.count = 9;
    cost.work = {n, 8 * n};
    table.launches.push_back(std::move(cost));
  }
  const std::string cost = folder.Write("cost.json", sims::CostTableToJson(table));
  const Outcome outcome =
      Lanescope({"simulate", Sample("cifar10_single"), "--machine", SampleMachine("k80x2"), "--cost", cost});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(FirstLine(outcome.output), HasSubstr("outside what was calibrated"));
}

TEST(Simulate, BatchAnswersEachLine) {
  const Outcome outcome =
      Lanescope({"simulate", Sample("polynomial"), "--batch", "--machine", SampleMachine("k80x2")},
                R"({"nodes": {}}
{"nodes": {"MatMul": {"device": "GPU:1"}}}

{"nodes": {"nobody": {"device": "GPU:1"}}}
not json
{"nodes": {}})");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.errors, "");
  std::vector<json> lines;
  std::istringstream text(outcome.output);
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 5u);
  ExpectPrediction(lines[0]);
  ExpectPrediction(lines[1]);
  EXPECT_EQ(lines[0]["copies"]["device_to_device"]["count"], 0);
  EXPECT_GT(lines[1]["copies"]["device_to_device"]["count"], 0);
  EXPECT_EQ(lines[2]["failed"]["code"], "InvalidArgument");
  EXPECT_THAT(lines[2]["failed"]["message"].get<std::string>(), HasSubstr("nobody"));
  EXPECT_EQ(lines[3]["failed"]["code"], "InvalidArgument");
  EXPECT_EQ(lines[4]["step_ns"], lines[0]["step_ns"]);
}

TEST(Simulate, ChangesOfTheMachineCount) {
  const auto simulate = [](const std::string& change) {
    return LanescopeJson({"simulate", Sample("deepconn_alternating"), "--json", "--machine",
                          SampleMachine("k80x2"), "--set", change})["step_ns"]["value"]
        .get<int64_t>();
  };
  const int64_t now = simulate("link.bandwidth=7.55GB/s");
  EXPECT_GT(simulate("link.bandwidth=1GB/s"), now);
  EXPECT_LT(simulate("link.bandwidth=100GB/s"), now);
  EXPECT_GT(simulate("GPU:1.speed=0.01"), now);
  ExpectError(Lanescope({"simulate", Sample("polynomial"), "--set", "link.colour=red"}), 1, "InvalidArgument",
              "link.bandwidth=");
  ExpectError(Lanescope({"simulate", Sample("polynomial"), "--set", "link.bandwidth=fast"}), 1,
              "InvalidArgument", "fast");
}

// Values that a machine file would refuse cannot be set either.
TEST(Simulate, ImpossibleMachinesAreRefused) {
  const auto set = [](const std::string& change) {
    return Lanescope({"simulate", Sample("polynomial"), "--set", change});
  };
  ExpectError(set("link.bandwidth=0GB/s"), 1, "InvalidArgument", "0GB/s");
  ExpectError(set("GPU:1.workers=0.5"), 1, "InvalidArgument", "workers from 1 to 1024");
  ExpectError(set("GPU:1.workers=1e9"), 1, "InvalidArgument", "workers from 1 to 1024");
  ExpectError(set("GPU:1.memory=0B"), 1, "InvalidArgument", "0B");
  ExpectError(set("GPU:9.speed=2"), 1, "NotFound", "GPU:9");
  ExpectError(set("GPU:1.speed=1e9"), 1, "InvalidArgument", "between 0.001 and 1000");
}

TEST(Simulate, SweepsOverBandwidths) {
  const Folder folder;
  const std::vector<std::string> arguments{
      "simulate",   Sample("deepconn_single"), "--machine", SampleMachine("k80x2"),
      "--strategy", "single,tower-split",      "--sweep",   "link.bandwidth=0.1GB/s..100GB/s",
      "--plot",     folder.File("p.svg")};
  auto with_json = arguments;
  with_json.push_back("--json");
  const json sweep = LanescopeJson(with_json)["sweep"];
  ASSERT_EQ(sweep["curves"].size(), 2u);
  EXPECT_EQ(sweep["curves"][0]["name"], "single");
  EXPECT_EQ(sweep["curves"][0]["step_ns"].size(), sweep["bandwidth"].size());
  EXPECT_GT(sweep["curves"][1]["step_ns"].front(), sweep["curves"][1]["step_ns"].back());
  ASSERT_EQ(sweep["crossings"].size(), 1u);
  EXPECT_EQ(sweep["crossings"][0]["above"], "tower-split");
  EXPECT_THAT(ReadText(folder.File("p.svg")), HasSubstr("<svg"));
  EXPECT_THAT(Lanescope(arguments).output, HasSubstr("tower-split wins over single above"));
  auto nowhere = arguments;
  nowhere.back() = folder.File("missing/p.svg");
  const Outcome without_plot = Lanescope(nowhere);
  EXPECT_EQ(without_plot.status, 1);
  EXPECT_THAT(without_plot.errors, HasSubstr("missing/p.svg"));
  EXPECT_THAT(without_plot.output, HasSubstr("tower-split wins over single above"));
  auto raster = arguments;
  raster.back() = folder.File("p.png");
  ExpectError(Lanescope(raster), 2, "InvalidArgument", ".svg");
  ExpectError(Lanescope({"simulate", Sample("polynomial"), "--sweep", "link.bandwidth=2GB/s..1GB/s"}), 1,
              "InvalidArgument", "--sweep");
}

TEST(Simulate, WritesASimulatedRun) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  ASSERT_EQ(Lanescope({"simulate", Sample("polynomial"), "--trace", trace, "--steps", "3"}).status, 0);
  EXPECT_EQ(LanescopeJson({"query", trace, "SELECT kind, steps, complete, predictionOf FROM LANESCOPE_RUN",
                           "--json"})["rows"],
            json::parse(R"([["simulated", 3, 1, "uncalibrated"]])"));
}

TEST(ExternalStrategy, ReadsGraphCostsAndMachine) {
  const Folder folder;
  const std::string copy = folder.File("input.json");
  const std::string program = folder.Write(
      "placer.sh", "cat > " + copy + "; echo '{\"nodes\": {\"MatMul\": {\"device\": \"GPU:1\"}}}'\n");
  const json placed =
      LanescopeJson({"place", Sample("polynomial"), "--json", "--strategy", "exec:sh " + program});
  for (const json& node : placed["nodes"]) {
    if (node["name"] == "MatMul") {
      EXPECT_THAT(node["device"].get<std::string>(), HasSubstr("GPU:1"));
    }
    if (node["name"] == "Square_1") {
      EXPECT_THAT(node["device"].get<std::string>(), HasSubstr("GPU:0"));
    }
  }
  const json input = json::parse(ReadText(copy));
  EXPECT_EQ(input["graph"]["fetches"], json::array({"Mean:0"}));
  EXPECT_EQ(input["graph"]["targets"], json::array({"Adam"}));
  EXPECT_EQ(input["machine"]["devices"].size(), 3u);
  EXPECT_EQ(input["costs"]["copies"].size(), 6u);
  for (const json& node : input["graph"]["nodes"]) {
    if (node["name"] != "MatMul") continue;
    EXPECT_EQ(node["inputs"], json::array({"stack", "w/read"}));
    EXPECT_EQ(node["outputs"][0]["shape"], json::array({100, 1}));
    EXPECT_EQ(node["devices"], json::array({"GPU:0", "GPU:1", "CPU:0"}));
  }
  EXPECT_GT(input["costs"]["nodes"]["MatMul"]["GPU:1"], 0);
}

TEST(ExternalStrategy, AProgramThatIgnoresItsInputIsFine) {
  EXPECT_EQ(Lanescope({"place", Sample("deepconn_single"), "--strategy", "exec:echo {\"nodes\":{}}"}).status,
            0);
}

TEST(ExternalStrategy, FailuresAreExplained) {
  const Folder folder;
  const auto place = [](const std::string& program, const std::string& timeout = "60") {
    return Lanescope(
        {"place", Sample("polynomial"), "--strategy", "exec:" + program, "--strategy-timeout", timeout});
  };
  const std::string script =
      folder.Write("fail.sh", "echo first >&2; echo no room on any device >&2; exit 3\n");
  const Outcome failed = place("sh " + script);
  ExpectError(failed, 1, "FailedPrecondition", "status 3: no room on any device");
  EXPECT_EQ(failed.errors.find("first"), std::string::npos);
  ExpectError(place(folder.File("missing")), 1, "NotFound", "missing");
  ExpectError(place("cat"), 1, "InvalidArgument", "output of 'cat'");
  ExpectError(place("true"), 1, "InvalidArgument", "output of 'true'");
  ExpectError(place("sleep 60", "1"), 1, "DeadlineExceeded", "sleep");
  ExpectError(place(""), 1, "InvalidArgument", "names no program");
  // No shell: this is one program of a strange name.
  ExpectError(place(fmt::format("touch;{}", folder.File("made"))), 1, "NotFound", "touch;");
}

TEST(ExternalStrategy, CtrlCEndsTheProgram) {
  const Folder folder;
  const std::string script =
      folder.Write("wait.sh", fmt::format("echo $$ > {}; sleep 60\n", folder.File("pid")));
  Process place({"place", Sample("polynomial"), "--strategy", "exec:sh " + script});
  ASSERT_TRUE(place.WaitForFile(folder.File("pid"), 2));
  place.Signal(SIGINT);
  ExpectError(place.Wait(), 130, "Cancelled", "interrupted");
  EXPECT_EQ(kill(std::stoi(ReadText(folder.File("pid"))), 0), -1);
}

// Law: where nothing takes time beside the commands, --ablate says so.
TEST(Simulate, AblationSaysThatNothingIsLeftOut) {
  EXPECT_THAT(Lanescope({"simulate", Sample("polynomial"), "--ablate"}).output,
              testing::HasSubstr("No effect takes time here"));
}

// Calls at 0 and 10, kernels of 100 at 12 and 114, from there to 214: 202. Twice as fast: 12 to 62, 64 to
// 114.
constexpr const char* kTwoKernels = R"json({"traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 10,
 "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 10,
 "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12, "dur": 100,
 "args": {"device": 0, "stream": 7, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 114, "dur": 100,
 "args": {"device": 0, "stream": 7, "correlation": 2}}]})json";

TEST(SimulateTrace, MeasuredReplayedAndPredictedStandBesideEachOther) {
  Folder folder;
  const std::string trace = folder.Write("t.json", kTwoKernels);
  const json result = LanescopeJson({"simulate", trace, "--set", "kernel:gemm.speed=2", "--json"});
  EXPECT_EQ(result["measured_ns"], 202'000);
  EXPECT_EQ(result["replayed_ns"], 202'000);
  EXPECT_EQ(result["predicted_ns"], 102'000);
  EXPECT_EQ(result["changes"][0]["count"], 2);
  EXPECT_EQ(result["path"]["predicted"]["kernels_ns"], 100'000);
  EXPECT_EQ(result["path"]["predicted"]["waiting_ns"], 2'000);
  const Outcome text = Lanescope({"simulate", trace, "--set", "kernel:gemm.speed=2"});
  EXPECT_EQ(text.status, 0);
  for (const char* part : {"2 operations on 1 GPU in 1 stream, 2 calls of 1 thread", "\nmeasured",
                           "\nreplayed", "\npredicted", "kernel:gemm.speed=2: changes 2"})
    EXPECT_THAT(text.output, HasSubstr(part));
}

// Two steps of one kernel each, of 100 and of 40.
constexpr const char* kTwoSteps = R"json({"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 200},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 200, "dur": 100},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 10,
 "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 20, "dur": 95},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 200, "dur": 10,
 "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12, "dur": 100,
 "args": {"device": 0, "stream": 7, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 212, "dur": 40,
 "args": {"device": 0, "stream": 7, "correlation": 2}}]})json";

// Half of the 40 of step 2 go, and nothing of another step is told.
TEST(ExplainTrace, SaysWhatAChangeChangesInAStep) {
  Folder folder;
  const std::string trace = folder.File("t.sqlite");
  ASSERT_EQ(Lanescope({"import", folder.Write("t.json", kTwoSteps), "-o", trace}).status, 0);
  const json step = LanescopeJson({"explain", trace, "--set", "kernel:*.speed=2", "--step", "2", "--json"});
  EXPECT_EQ(step["path_a"]["launch_ns"], 40'000);
  EXPECT_EQ(step["path_b"]["launch_ns"], 20'000);
  ASSERT_EQ(step["shorter"].size(), 1u);
  EXPECT_EQ(step["shorter"][0]["change_ns"], -20'000);
  EXPECT_THAT(step["shorter"][0]["text"].get<std::string>(), HasSubstr("add"));
  const Outcome all = Lanescope({"explain", trace, "--set", "kernel:gemm.speed=2"});
  EXPECT_EQ(all.status, 0) << all.errors;
  EXPECT_THAT(all.output, HasSubstr("gemm"));
  ExpectError(Lanescope({"explain", trace, "--set", "kernel:*.speed=2", "--step", "9"}), 1, "NotFound", "9");
  ExpectError(Lanescope({"explain", trace, "--set", "ranks=4"}), 1, "FailedPrecondition", "no collectives");
  ExpectError(Lanescope({"explain", trace, trace, "--set", "ranks=4"}), 1, "InvalidArgument", "one trace");
}

TEST(SimulateTrace, WhatIsForGraphsIsRefused) {
  Folder folder;
  const std::string trace = folder.Write("t.json", kTwoKernels), ours = folder.File("t.db");
  EXPECT_EQ(Lanescope({"simulate", trace, "--strategy", "single"}).status, 2);
  EXPECT_EQ(Lanescope({"simulate", Sample("polynomial"), "--run", "1"}).status, 2);
  EXPECT_EQ(Lanescope({"simulate", Sample("polynomial"), "--set", "straggler"}).status, 2);
  ASSERT_EQ(
      Lanescope({"simulate", Sample("polynomial"), "--machine", SampleMachine("k80x2"), "--trace", ours})
          .status,
      0);
  ExpectError(Lanescope({"simulate", ours}), 1, "FailedPrecondition", "simulate the graph");
}

// Law: a loop whose end data decide (6 trips at most) is simulated as often as is said, or as it runs here:
// with x = 1, 2, 3 it adds up to 20 in three trips.
TEST(Simulate, LoopsRunAsOftenAsIsSaidOrMeasured) {
  const json cases = test::RecordedCases("ops/control_flow");
  const auto loop =
      std::ranges::find_if(cases, [](const json& each) { return each["name"] == "until data say"; });
  const Folder folder;
  const std::string graph = folder.Write("loop.pbtxt", (*loop)["graph"].get<std::string>());
  folder.Write("loop.run.json", R"({"feeds": {"x": {"dtype": "float32", "shape": [3], "values": [1, 2, 3]}},
                                    "fetches": ["y:0"]})");
  const auto commands = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"simulate", graph, "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return LanescopeJson(arguments)["commands"].get<int>();
  };
  EXPECT_LT(commands({"--trips", "while=2"}), commands({"--trips", "while=3"}));
  EXPECT_LT(commands({"--trips", "while=3"}), commands({}));
  EXPECT_EQ(commands({"--measure-trips"}), commands({"--trips", "while=3"}));
  const Outcome measured = Lanescope({"simulate", graph, "--measure-trips"});
  EXPECT_THAT(measured.errors, HasSubstr("note: loop 'while' ran 3 times here"));
  EXPECT_EQ(Lanescope({"simulate", graph, "--trips", "while"}).status, 2);
  EXPECT_EQ(Lanescope({"run", graph, "--trips", "while=2", "--steps", "1"}).status, 1);
  EXPECT_EQ(Lanescope({"run", graph, "--trips", "while=4", "--steps", "1"}).status, 0);
}

}  // namespace
}  // namespace lanescope::cli
