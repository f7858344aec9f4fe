// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string DeviceOf(const json& placed, const std::string& name) {
  for (const json& node : placed["nodes"]) {
    if (node["name"] == name) return node["device"];
  }
  return "";
}

// Transfers of tensors from one GPU to another, as they would be counted on a machine with two K80s.
int DeviceToDevice(const json& placed) {
  return static_cast<int>(
      std::count_if(placed["copies"].begin(), placed["copies"].end(), [](const json& copy) {
        const auto is_gpu = [&](const char* end) {
          return copy[end].get<std::string>().find("GPU") != std::string::npos;
        };
        return copy["kind"] == "data" && copy["memory"] == "device" && is_gpu("src") && is_gpu("dst");
      }));
}

TEST(Place, JsonHasTheKeysOfTheContract) {
  const json placed =
      LanescopeJson({"place", Sample("polynomial_parallel"), "--strategy", "alternating", "--json"});
  ASSERT_FALSE(placed["nodes"].empty());
  for (const json& node : placed["nodes"]) {
    EXPECT_TRUE(node["name"].is_string() && node["op"].is_string());
    EXPECT_THAT(node["device"].get<std::string>(),
                testing::StartsWith("/job:localhost/replica:0/task:0/device:"));
    EXPECT_TRUE(node["shapes"].is_array() && node["dtypes"].is_array() &&
                node["shapes"].size() == node["dtypes"].size());
    EXPECT_TRUE(node["flops"].is_number() && node["bytes"].is_number());
  }
  EXPECT_TRUE(placed["edges"].is_array() && !placed["edges"].empty());
  ASSERT_FALSE(placed["copies"].empty());
  for (const json& copy : placed["copies"]) {
    EXPECT_TRUE(copy["tensor"].is_string() && copy["src"].is_string() && copy["dst"].is_string());
    EXPECT_TRUE(copy["bytes"].is_number_integer());
    EXPECT_TRUE(copy["memory"] == "device" || copy["memory"] == "host");
    EXPECT_TRUE(copy["kind"] == "data" || copy["kind"] == "control");
    // Within a device only between its own memory and the host's.
    EXPECT_TRUE(copy["src"] != copy["dst"] || copy["memory"] == "host");
  }
}

// On modelled GPUs. Products are products with and without.
TEST(Place, JsonSaysWhatFusionSaves) {
  const json launches = LanescopeJson(
      {"place", Sample("deepconn_dual"), "--json", "--machine", SampleMachine("k80x2")})["launches"];
  const json &unfused = launches["unfused"], &fused = launches["fused"];
  EXPECT_LT(fused["launches"], unfused["launches"]);
  EXPECT_LT(fused["other_bytes"], unfused["other_bytes"]);
  EXPECT_EQ(fused["product_bytes"], unfused["product_bytes"]);
}

TEST(Place, DumpsOfFusedStepsNameTheirNodes) {
  const std::vector<std::string> place = {"place", Sample("deepconn_dual"), "--machine",
                                          SampleMachine("k80x2"), "--dump-schedule"};
  EXPECT_THAT(Lanescope(place).output, testing::Not(HasSubstr("(fused ")));
  std::vector<std::string> fused = place;
  fused.push_back("--fusion");
  EXPECT_THAT(Lanescope(fused).output, HasSubstr("(fused "));
}

TEST(Place, DeepConnMakesAsManyCopiesAsInTensorFlow) {
  for (const auto& [graph, count] :
       std::vector<std::pair<std::string, int>>{{"single", 0}, {"dual", 19}, {"alternating", 23}}) {
    EXPECT_EQ(DeviceToDevice(LanescopeJson(
                  {"place", Sample("deepconn_" + graph), "--json", "--machine", SampleMachine("k80x2")})),
              count)
        << graph;
  }
}

TEST(Place, APlacementFileGivesTheSamePlacementAgain) {
  const Folder folder;
  const std::string file = folder.File("placement.json");
  const json first = LanescopeJson(
      {"place", Sample("polynomial_parallel"), "--strategy", "alternating", "--json", "-o", file});
  EXPECT_EQ(LanescopeJson({"place", Sample("polynomial_parallel"), "--strategy", "@" + file, "--json"}),
            first);
  const json simulated =
      LanescopeJson({"simulate", Sample("polynomial_parallel"), "--strategy", "@" + file, "--json"});
  EXPECT_EQ(simulated["copies"], LanescopeJson({"simulate", Sample("polynomial_parallel"), "--strategy",
                                                "alternating", "--json"})["copies"]);
}

TEST(Place, APlacedGraphKeepsItsPlacement) {
  const Folder folder;
  const std::string configuration =
      ReadText(lanescope::test::SourceDir() + "/samples/graphs/polynomial.run.json");
  for (const std::string name : {"placed.pbtxt", "placed.pb"}) {
    const json first = LanescopeJson(
        {"place", Sample("polynomial"), "--strategy", "alternating", "--json", "-o", folder.File(name)});
    EXPECT_EQ(LanescopeJson({"place", folder.File(name), "--json"})["nodes"], first["nodes"]);
    EXPECT_EQ(ReadText(folder.File("placed.run.json")), configuration) << "what a step is comes along";
    EXPECT_EQ(Lanescope({"run", folder.File(name), "--steps", "1"}).status, 0);
  }
  folder.Write("other.run.json", "{}");
  LanescopeJson({"place", Sample("polynomial"), "--json", "-o", folder.File("other.pb")});
  EXPECT_EQ(ReadText(folder.File("other.run.json")), "{}") << "one that is there stays";
}

TEST(Place, WrongPlacementFilesAreRefused) {
  const Folder folder;
  const auto place = [&](const std::string& text) {
    return Lanescope(
        {"place", Sample("polynomial"), "--strategy", fmt::format("@{}", folder.Write("p.json", text))});
  };
  ExpectError(place(R"({"nodes": {"nobody": {"device": "GPU:0"}}})"), 1, "InvalidArgument", "nobody");
  ExpectError(place(R"({"nodes": {"x": {"device": "GPU:7"}}})"), 1, "InvalidArgument", "GPU:7");
  ExpectError(place("[]"), 1, "InvalidArgument", "p.json");
  ExpectError(
      Lanescope({"place", Sample("polynomial"), "--strategy", fmt::format("@{}", folder.File("none.json"))}),
      1, "NotFound", "none.json");
}

// The placer takes nodes in the order of the graph, but constants that feed one device last.
TEST(Place, LogsInTheOrderOfThePlacer) {
  const Outcome outcome = Lanescope({"place", Sample("matmul_cpu_gpu"), "--log-device-placement"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output,
            "MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0\n"
            "a: (Const): /job:localhost/replica:0/task:0/device:CPU:0\n"
            "b: (Const): /job:localhost/replica:0/task:0/device:CPU:0\n");
}

// The documented log of the first releases, last one first.
TEST(Place, G01TheFirstReleasesLogHasOtherNamesInAnotherOrder) {
  const Outcome outcome = Lanescope({"place", Sample("matmul_cpu_gpu"), "--log-device-placement",
                                     "--log-style", "v0", "--strategy", "single"});
  EXPECT_EQ(outcome.output,
            "b: /job:localhost/replica:0/task:0/gpu:0\n"
            "a: /job:localhost/replica:0/task:0/gpu:0\n"
            "MatMul: /job:localhost/replica:0/task:0/gpu:0\n");
}

TEST(Place, LogAndJsonGoToDifferentStreams) {
  const Outcome outcome = Lanescope({"place", Sample("matmul_cpu_gpu"), "--log-device-placement", "--json"});
  EXPECT_TRUE(json::accept(outcome.output));
  EXPECT_THAT(outcome.errors, HasSubstr("MatMul: (MatMul): "));
}

TEST(Place, WithoutSoftPlacementARequestIsBinding) {
  const Folder folder;
  std::string text = ReadText(Sample("matmul_cpu_gpu"));
  const size_t device = text.find("/device:CPU:0");
  ASSERT_NE(device, std::string::npos);
  text.replace(device, 13, "/device:GPU:9");
  const std::string graph = folder.Write("g.pbtxt", text);
  EXPECT_EQ(Lanescope({"place", graph}).status, 0);
  ExpectError(Lanescope({"place", graph, "--no-soft-placement"}), 1, "InvalidArgument", "GPU:9");
}

TEST(Place, AGraphWithoutRunConfigurationIsTakenWhole) {
  const Folder folder;
  const std::string graph = folder.Write("g.pbtxt", R"(
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
      node { name: "y" op: "Square" input: "x" attr { key: "T" value { type: DT_FLOAT } } })");
  const Outcome outcome = Lanescope({"place", graph, "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("[1,3]"));
  EXPECT_THAT(DeviceOf(json::parse(outcome.output), "y"), HasSubstr("GPU:0"));
  ExpectError(Lanescope({"run", graph}), 1, "InvalidArgument", "--fetch");
}

TEST(Place, MemoryBeyondTheLimitNamesTheHolder) {
  const Folder folder;
  const std::string machine = folder.Write(
      "m.json", R"({"name": "small", "devices": [{"name": "CPU:0"}, {"name": "GPU:0", "memory": "1MiB"}],
      "links": [{"between": ["CPU:0", "GPU:0"], "bandwidth": "5GB/s", "latency": "60us"}]})");
  for (const std::string command : {"place", "run", "simulate"}) {
    ExpectError(Lanescope({command, Sample("deepconn_single"), "--machine", machine}), 1, "ResourceExhausted",
                "GPU:0");
  }
}

// An output that a node lacks is refused wherever a step is asked for, on the command line and in the file.
TEST(Place, OutputsThatThereAreNotCannotBeFetched) {
  const Folder folder;
  const std::string graph = folder.Write("g.pbtxt", ReadText(Sample("matmul_cpu_gpu")));
  for (const std::string command : {"place", "simulate", "run", "compare"}) {
    for (const std::string fetch : {"MatMul:900", "MatMul:1", "MatMul:-1", "MatMul:99999999999999999999"}) {
      SCOPED_TRACE(command + " " + fetch);
      const bool counts = fetch == "MatMul:900" || fetch == "MatMul:1";
      ExpectError(Lanescope({command, graph, "--fetch", fetch}), 1, counts ? "InvalidArgument" : "NotFound",
                  fetch);
    }
  }
  folder.Write("g.run.json", R"({"fetches": ["MatMul:900"]})");
  ExpectError(Lanescope({"place", graph}), 1, "InvalidArgument", "outputs of 'MatMul' go from :0 to :0");
}

// Two layers with a parameter each, on a GPU each.
TEST(Place, PrintsWhatLibrariesOfPyTorchTake) {
  const Folder folder;
  const std::string graph = folder.Write("m.pbtxt", R"(
    node { name: "first/weight" op: "NoOp" device: "/device:GPU:0" }
    node { name: "second/weight" op: "NoOp" device: "/device:GPU:1" input: "^first/weight" })");
  folder.Write("m.modules.json", R"({"modules": {"": "Sequential", "first": "Linear", "second": "Linear"},
    "parameters": {"first.weight": 4, "second.weight": 8}, "order": ["first", "second"]})");
  const auto print = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"place", graph};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return LanescopeJson(arguments);
  };
  EXPECT_EQ(print({"--format", "device-map"}), json({{"first", 0}, {"second", 1}}));
  EXPECT_EQ(print({"--format", "device-map", "--no-split", "Sequential"}), json({{"", 1}}));
  EXPECT_EQ(print({"--format", "split-points"}), json({"second"}));
  EXPECT_EQ(print({"--format", "fsdp"}), json({"first", "second"}));
  EXPECT_EQ(print({"--format", "device-map", "--strategy", "single"}), json({{"", 0}}));
  ExpectError(Lanescope({"place", Sample("polynomial"), "--format", "fsdp"}), 1, "NotFound",
              "lanescope.torch.export writes it");
  const std::vector<std::string> search{"search",   graph,        "--rounds",   "0",
                                        "--format", "device-map", "--no-split", "Sequential"};
  EXPECT_EQ(LanescopeJson(search).size(), 1u);
}

}  // namespace
}  // namespace lanescope::cli
