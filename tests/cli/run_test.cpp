// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/file.h"
#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "tests/cli/program.h"
#include "tests/support/collective_graph.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Two ops that only a cost attribute knows.
constexpr std::string_view kUnknownOps = R"(
    node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: 1 } } } }
    node { name: "b" op: "Fancy" input: "a"
           attr { key: "_output_shapes" value { list { shape { dim { size: 4 } } } } }
           attr { key: "_lanescope_cost" value { s: "{\"ns\": {\"GPU\": 5000, \"CPU\": 90000}}" } }
           attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "c" op: "Fancy" input: "b"
           attr { key: "_output_shapes" value { list { shape { dim { size: 4 } } } } }
           attr { key: "_lanescope_cost" value { s: "{\"ns\": {\"GPU\": 7000, \"CPU\": 90000}}" } }
           attr { key: "T" value { type: DT_FLOAT } } })";

// A random op without seeds and a feed without a seed: out = noise + x.
std::string UnseededGraph(const Folder& folder) {
  folder.Write(
      "noise.run.json",
      R"({"fetches": ["out:0"], "feeds": {"x": {"dtype": "float32", "shape": [3], "generator": "uniform", "low": 0, "high": 1}}})");
  return folder.Write("noise.pbtxt", R"(
      node { name: "shape" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
             attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 3 } } } }
      node { name: "noise" op: "RandomUniform" input: "shape" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "T" value { type: DT_INT32 } } }
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 3 } } } } }
      node { name: "out" op: "AddV2" input: "noise" input: "x" attr { key: "T" value { type: DT_FLOAT } } })");
}

json Values(const json& result) { return result["fetches"][0]["values"]; }

TEST(Run, JsonHasTheKeysOfTheContract) {
  const Folder folder;
  const json result =
      LanescopeJson({"run", Sample("polynomial"), "--steps", "3", "--json", "--trace", folder.File("t.db")});
  EXPECT_EQ(result["trace"], folder.File("t.db"));
  EXPECT_EQ(result["run"], 1);
  EXPECT_EQ(result["steps"], 3);
  for (const char* key : {"median", "p25", "p75", "min", "max"})
    EXPECT_TRUE(result["step_ns"][key].is_number_integer()) << key;
  ASSERT_EQ(result["fetches"].size(), 1u);
  EXPECT_EQ(result["fetches"][0]["name"], "Mean:0");
  EXPECT_EQ(result["fetches"][0]["dtype"], "float32");
  EXPECT_EQ(result["fetches"][0]["shape"], json::array());
  EXPECT_EQ(Values(result).size(), 1u);
  EXPECT_EQ(LanescopeJson({"run", Sample("polynomial"), "--steps", "1", "--json"})["trace"], nullptr);
}

// A bfloat16 variable that begins as 1 and goes down by 0.5 x 1 a step, read after that: -0.5 after the
// third.
TEST(Run, VariablesOfSixteenBitsAreTrained) {
  const Folder folder;
  const auto constant = [](const std::string& name, int bits) {
    return fmt::format(R"(
      node {{ name: "{}" op: "Const" attr {{ key: "dtype" value {{ type: DT_BFLOAT16 }} }}
             attr {{ key: "value" value {{ tensor {{ dtype: DT_BFLOAT16 tensor_shape {{}} half_val: {} }} }} }} }})",
                       name, bits);
  };
  const std::string graph = folder.Write("g.pbtxt", constant("one", 0x3F80) + constant("half", 0x3F00) + R"(
      node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_BFLOAT16 } } attr { key: "shape" value { shape {} } } }
      node { name: "v/Assign" op: "AssignVariableOp" input: "v" input: "one" attr { key: "dtype" value { type: DT_BFLOAT16 } } }
      node { name: "apply" op: "ResourceApplyGradientDescent" input: "v" input: "half" input: "one" attr { key: "T" value { type: DT_BFLOAT16 } } }
      node { name: "read" op: "ReadVariableOp" input: "v" input: "^apply" attr { key: "dtype" value { type: DT_BFLOAT16 } } }
      node { name: "out" op: "Cast" input: "read" attr { key: "SrcT" value { type: DT_BFLOAT16 } } attr { key: "DstT" value { type: DT_FLOAT } } })");
  folder.Write("g.run.json", R"({"init": ["v/Assign"], "fetches": ["out:0"]})");
  const json result = LanescopeJson({"run", graph, "--steps", "3", "--warmup", "0", "--json"});
  EXPECT_EQ(Values(result), json::array({-0.5}));
}

TEST(Run, FlagsOverrideTheRunConfiguration) {
  const Folder folder;
  Tensor x(DataType::kFloat, Shape({100})), y(DataType::kFloat, Shape({100}));
  for (int i = 0; i < 100; ++i) x.data<float>()[i] = y.data<float>()[i] = 0;
  WriteNpy(x, folder.File("x.npy"));
  WriteNpy(y, folder.File("y.npy"));
  // With x = y = 0 the error is the square of the constant coefficient: that of `w` before the update.
  const json result = LanescopeJson({"run", Sample("polynomial"), "--steps", "1", "--warmup", "0", "--json",
                                     "--feed", fmt::format("x={}", folder.File("x.npy")), "--feed",
                                     fmt::format("y:0={}", folder.File("y.npy")), "--fetch", "Mean:0",
                                     "--fetch", "Squeeze:0"});
  ASSERT_EQ(result["fetches"].size(), 2u);
  EXPECT_EQ(result["fetches"][1]["shape"], json::array({100}));
  const double value = result["fetches"][1]["values"][0];
  EXPECT_NEAR(result["fetches"][0]["values"][0], value * value, 1e-5);
}

TEST(Run, WrongFeedsAreRefused) {
  const Folder folder;
  WriteNpy(Tensor(DataType::kInt32, Shape({100})), folder.File("int.npy"));
  WriteNpy(Tensor(DataType::kFloat, Shape({3})), folder.File("short.npy"));
  const auto feed = [&](const std::string& text) {
    return Lanescope({"run", Sample("polynomial"), "--feed", text});
  };
  ExpectError(feed(fmt::format("x={}", folder.File("none.npy"))), 1, "NotFound", "none.npy");
  ExpectError(feed(fmt::format("x={}", folder.Write("bad.npy", "no array"))), 1, "InvalidArgument", ".npy");
  ExpectError(feed(fmt::format("nobody={}", folder.File("short.npy"))), 1, "NotFound", "nobody");
  ExpectError(feed(fmt::format("x={}", folder.File("int.npy"))), 1, "InvalidArgument", "float");
  ExpectError(feed(fmt::format("x={}", folder.File("short.npy"))), 1, "InvalidArgument", "feed both");
}

// A feed in vain would leave the step to numbers that are made.
TEST(Run, FeedsThatTheStepDoesNotNeedAreRefused) {
  const Folder folder;
  WriteNpy(Tensor(DataType::kFloat, Shape({100})), folder.File("x.npy"));
  const std::string feed = fmt::format("={}", folder.File("x.npy"));
  ExpectError(Lanescope({"run", Sample("polynomial"), "--steps", "1", "--feed", "y" + feed, "--feed",
                         "x" + feed, "--fetch", "x:0", "--target", "x"}),
              1, "InvalidArgument", "the step does not need 'y', which is fed; it is fed 'x'");
}

TEST(Run, SavesFetchesOfEveryStep) {
  const Folder folder;
  const json result = LanescopeJson({"run", Sample("polynomial"), "--steps", "3", "--warmup", "1", "--json",
                                     "--save-fetches", folder.File("out/deep")});
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.File("out/deep")))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), 3u);
  const Tensor last = ReadNpy(files.back());
  EXPECT_EQ(last.shape(), Shape({}));
  EXPECT_EQ(last.data<float>()[0], Values(result)[0].get<float>());
}

// Constants of the given names, all fetched.
std::string Constants(const Folder& folder, const std::vector<std::string>& names) {
  std::string graph, fetches;
  for (const std::string& name : names) {
    graph += fmt::format(R"(node {{ name: "{}" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
        attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ }} float_val: 1 }} }} }} }}
)",
                         name);
    fetches += fmt::format("{}\"{}:0\"", fetches.empty() ? "" : ", ", name);
  }
  folder.Write("c.run.json", "{\"fetches\": [" + fetches + "]}");
  return folder.Write("c.pbtxt", graph);
}

TEST(Run, FetchesThatWouldShareAFileAreRefusedBeforeTheRun) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  ExpectError(Lanescope({"run", Constants(folder, {"a/b", "a_b"}), "--save-fetches", folder.File("out"),
                         "--trace", trace}),
              1, "InvalidArgument", "'a/b:0' and 'a_b:0'");
  EXPECT_FALSE(std::filesystem::exists(trace));
  EXPECT_EQ(
      Lanescope({"run", Constants(folder, {"a/b", "a_c"}), "--save-fetches", folder.File("out")}).status, 0);
}

TEST(Run, NamesThatNoFileTakesAreRefusedBeforeTheRun) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  const std::string graph = Constants(folder, {std::string(300, 'n')});
  ExpectError(Lanescope({"run", graph, "--save-fetches", folder.File("out"), "--trace", trace}), 1,
              "InvalidArgument", "--save-fetches");
  EXPECT_FALSE(std::filesystem::exists(trace));
  EXPECT_TRUE(std::filesystem::is_empty(folder.File("out")));
  EXPECT_EQ(Lanescope({"run", graph}).status, 0);
}

TEST(Run, LogsThePlacementAsTensorFlowDoes) {
  const Outcome outcome =
      Lanescope({"run", Sample("matmul_cpu_gpu"), "--steps", "1", "--log-device-placement"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(
      outcome.output,
      testing::StartsWith("Device mapping:\n"
                          "/job:localhost/replica:0/task:0/device:GPU:0 -> device: 0, name: virtual GPU\n"
                          "/job:localhost/replica:0/task:0/device:GPU:1 -> device: 1, name: virtual GPU\n"
                          "MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0\n"
                          "a: (Const): /job:localhost/replica:0/task:0/device:CPU:0\n"
                          "b: (Const): /job:localhost/replica:0/task:0/device:CPU:0\n"));
  const Outcome as_json =
      Lanescope({"run", Sample("matmul_cpu_gpu"), "--steps", "1", "--log-device-placement", "--json"});
  EXPECT_TRUE(json::accept(as_json.output));
  EXPECT_THAT(as_json.errors, testing::StartsWith("Device mapping:\n"));
  const Folder folder;
  const std::string machine = folder.Write("m.json", R"({"name": "m", "devices": [{"name": "CPU:0"}]})");
  EXPECT_THAT(Lanescope({"run", Sample("matmul_cpu_gpu"), "--steps", "1", "--log-device-placement",
                         "--machine", machine})
                  .output,
              testing::StartsWith("Device mapping: no known devices.\nMatMul: "));
}

TEST(Run, TheSeedIsOfWhatHasNone) {
  const Folder folder;
  const std::string graph = UnseededGraph(folder);
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"run", graph, "--steps", "2", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Values(LanescopeJson(arguments));
  };
  EXPECT_EQ(run({"--seed", "5"}), run({"--seed", "5"}));
  EXPECT_EQ(run({"--seed", "5"}), run({"--seed", "5", "--strategy", "alternating"}));
  EXPECT_EQ(run({}), run({}));
  EXPECT_NE(run({"--seed", "5"}), run({"--seed", "6"}));
  // The feed alone changes with the seed, too.
  EXPECT_NE(run({"--seed", "5", "--fetch", "x:0", "--target", "x"}), run({"--seed", "6", "--fetch", "x:0"}));
  EXPECT_NE(run({"--seed", "5", "--fetch", "noise:0"}), run({"--seed", "6", "--fetch", "noise:0"}));
  // Seeds of the graph and the run configuration stay.
  const auto seeded = [](const std::string& seed) {
    return Values(LanescopeJson({"run", Sample("random_add"), "--steps", "1", "--json", "--seed", seed}));
  };
  EXPECT_EQ(seeded("1"), seeded("2"));
}

TEST(Run, OpsWithoutKernelAreListedWithCounts) {
  const Folder folder;
  const std::string graph = folder.Write("g.pbtxt", kUnknownOps);
  EXPECT_EQ(Lanescope({"place", graph}).status, 0);
  EXPECT_EQ(
      LanescopeJson({"simulate", graph, "--json", "--machine", SampleMachine("k80x2")})["step_ns"]["value"],
      12000);
  ExpectError(Lanescope({"run", graph, "--target", "c"}), 1, "Unimplemented", "Fancy (2)");
}

// A run complains of ops without a kernel, and not of what follows from them.
TEST(Run, ListsAllOpsWithoutKernelsInOneLine) {
  const Folder folder;
  const std::string graph = folder.Write("g.pbtxt", R"(
    node { name: "item" op: "Odd" }
    node { name: "two" op: "Strange" input: "item" }
    node { name: "relu" op: "Relu" input: "two:1" attr { key: "T" value { type: DT_FLOAT } } })");
  const Outcome outcome = Lanescope({"run", graph, "--target", "relu"});
  ExpectError(outcome, 1, "Unimplemented", "no kernel here for Odd (1), Strange (1)");
  const json placed = LanescopeJson({"place", graph, "--json"});
  EXPECT_EQ(placed["unknown"], json::parse(R"([
      {"op": "Odd", "defined": false, "launches": 1, "followers": 0},
      {"op": "Strange", "defined": false, "launches": 1, "followers": 1}])"));
  const json simulated = LanescopeJson({"simulate", graph, "--json"});
  EXPECT_EQ(simulated["unknown"], placed["unknown"]);
  EXPECT_GE(simulated["step_ns"]["value"], 20000);
  EXPECT_THAT(simulated["caveat"].get<std::string>(), HasSubstr("nothing to go by for 100%"));
}

// A product whose inputs' shapes an op without a kernel leaves open is not what is missing.
TEST(Run, OpsBehindAnUnknownShapeAreNotCalledMissing) {
  const Folder folder;
  const std::string products = R"(
    node { name: "one" op: "OnnxMatMul" input: "scaler" input: "scaler" }
    node { name: "two" op: "OnnxMatMul" input: "scaler" input: "one" }
    node { name: "known" op: "OnnxRelu" input: "x" }
    node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 } } } })";
  const std::string graph = folder.Write("g.pbtxt", "node { name: 'scaler' op: 'OnnxScaler' }" + products);
  const Outcome outcome = Lanescope({"run", graph, "--target", "two", "--target", "known"});
  ExpectError(outcome, 1, "Unimplemented", "no kernel here for OnnxRelu (1), OnnxScaler (1); OnnxMatMul (2)");
}

TEST(Run, ModelledDevicesCannotRun) {
  ExpectError(Lanescope({"run", Sample("polynomial"), "--machine", SampleMachine("k80x2")}), 1,
              "FailedPrecondition", "modelled");
}

TEST(Run, AppendsToATrace) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  for (int run = 1; run <= 3; ++run)
    EXPECT_EQ(LanescopeJson({"run", Sample("polynomial"), "--steps", "2", "--json", "--trace", trace})["run"],
              run);
  EXPECT_EQ(LanescopeJson({"query", trace, "SELECT count(*), sum(complete), sum(steps) FROM LANESCOPE_RUN",
                           "--json"})["rows"],
            json::parse("[[3, 3, 6]]"));
}

TEST(Run, ForeignFilesStayUntouched) {
  const Folder folder;
  const std::string text = folder.Write("notes.txt", "my notes");
  ExpectError(Lanescope({"run", Sample("polynomial"), "--trace", text}), 1, "FailedPrecondition",
              "notes.txt");
  EXPECT_EQ(ReadText(text), "my notes");
  ExpectError(Lanescope({"compare", Sample("polynomial"), "--no-run", "--trace", text}), 1,
              "FailedPrecondition", "notes.txt");
  ExpectError(Lanescope({"simulate", Sample("polynomial"), "--trace", text}), 1, "FailedPrecondition",
              "notes.txt");
  EXPECT_EQ(ReadText(text), "my notes");
  EXPECT_EQ(Lanescope({"run", Sample("polynomial"), "--trace", folder.File("no/such/folder.db")}).status, 1);
}

TEST(Run, AReadOnlyTraceIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const Folder folder;
  const std::string trace = folder.File("t.db");
  ASSERT_EQ(Lanescope({"run", Sample("polynomial"), "--steps", "1", "--trace", trace}).status, 0);
  const std::string before = ReadText(trace);
  std::filesystem::permissions(trace, std::filesystem::perms::owner_read);
  ExpectError(Lanescope({"run", Sample("polynomial"), "--steps", "1", "--trace", trace}), 1,
              "FailedPrecondition", "t.db");
  EXPECT_EQ(ReadText(trace), before);
}

// 1,024 workers want more address space for their stacks than there is: an error like any other.
TEST(Run, NoThreadLeftIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#endif
  const Folder folder;
  const std::string machine = folder.Write("many.json", R"({"name": "many workers", "devices": [
      {"name": "CPU:0", "kind": "host", "memory": "1GiB", "workers": 1024}]})");
  rlimit old_limit, limit;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old_limit), 0);
  limit = old_limit;
  limit.rlim_cur = rlim_t{1} << 30;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const Outcome outcome = Lanescope({"run", Sample("polynomial"), "--machine", machine});
  ASSERT_EQ(setrlimit(RLIMIT_AS, &old_limit), 0);
  ExpectError(outcome, 1, "ResourceExhausted", "1024 workers of a device");
}

TEST(Run, CtrlCKeepsTheTrace) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  Process run({"run", Sample("polynomial"), "--steps", "100000000", "--trace", trace});
  ASSERT_TRUE(run.WaitForFile(trace + "-wal", 1 << 20));
  run.Signal(SIGINT);
  ExpectError(run.Wait(), 130, "Cancelled", trace);
  EXPECT_FALSE(std::filesystem::exists(trace + "-wal"));
  const json rows = LanescopeJson(
      {"query", trace, "SELECT complete, error, steps > 0 FROM LANESCOPE_RUN", "--json"})["rows"];
  EXPECT_EQ(rows, json::parse(R"([[1, "Cancelled: interrupted", 1]])"));
  EXPECT_EQ(Lanescope({"summary", trace}).status, 0);
}

TEST(Run, AKilledRunLeavesAReadableTrace) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  Process run({"run", Sample("polynomial"), "--steps", "100000000", "--trace", trace});
  ASSERT_TRUE(run.WaitForFile(trace + "-wal", 1 << 20));
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait().status, 128 + SIGKILL);
  const Outcome summary = Lanescope({"summary", trace});
  EXPECT_EQ(summary.status, 0) << summary.errors;
  EXPECT_THAT(summary.output, HasSubstr("incomplete"));
  EXPECT_EQ(LanescopeJson({"query", trace, "SELECT complete FROM LANESCOPE_RUN", "--json"})["rows"],
            json::parse("[[0]]"));
  EXPECT_EQ(LanescopeJson({"run", Sample("polynomial"), "--steps", "1", "--json", "--trace", trace})["run"],
            2);
}

// Law: a network of an ensemble has the collectives that cost least on the machine, as `place` shows them; on
// four GPUs of one computer those of small tensors are not what suits their size.
TEST(Run, ReplicasHaveTheCollectivesOfTheirMachine) {
  const Folder folder;
  const test::CollectiveGraph collectives(
      {"/device:GPU:0", "/device:GPU:1", "/device:GPU:2", "/device:GPU:3"});
  const std::string graph = folder.Write("all.pbtxt", GraphToText(collectives.graph()));
  folder.Write("all.run.json", json({{"fetches", collectives.fetches()}}).dump());
  const std::string trace = folder.File("t.db"), machine = SampleMachine("four-virtual-gpus");
  const auto placed = [&](const std::vector<std::string>& how) {
    std::vector<std::string> command = {"place", graph, "--machine", machine, "--json"};
    command.insert(command.end(), how.begin(), how.end());
    std::set<std::string> names;
    const json nodes = LanescopeJson(command)["nodes"];
    for (const json& node : nodes) names.insert(node["name"].get<std::string>());
    return names;
  };
  LanescopeJson({"run", graph, "--machine", machine, "--replicas", "--steps", "1", "--warmup", "0", "--trace",
                 trace, "--json"});
  std::set<std::string> run;
  const json rows = LanescopeJson(
      {"query", trace, "SELECT DISTINCT name FROM LANESCOPE_NODE", "--limit", "100000", "--json"});
  for (const json& row : rows["rows"]) run.insert(row[0].get<std::string>());
  EXPECT_EQ(run, placed({}));
  EXPECT_NE(run, placed({"--all-reduce", "tree"}));
}

}  // namespace
}  // namespace lanescope::cli
