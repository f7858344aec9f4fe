// SPDX-License-Identifier: Apache-2.0
// Placements by the modules of a model: two blocks of two layers between words and an output.
#include "study/workload/module_placement.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/graph/graph_io.h"

namespace lanescope::study {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;
using testing::HasSubstr;

// Modules of 40, 30, 20, 10 bytes and so on; "out" has a weight of its own and a tied one is listed once.
constexpr std::string_view kModules = R"({
  "modules": {"": "Model", "words": "Embedding", "blocks": "ModuleList", "blocks.0": "Block", "blocks.0.up": "Linear",
              "blocks.0.down": "Linear", "blocks.1": "Block", "blocks.1.up": "Linear", "blocks.1.down": "Linear", "out": "Linear"},
  "parameters": {"scale": 4, "words.weight": 400, "blocks.0.up.weight": 30, "blocks.0.down.weight": 20,
                 "blocks.1.up.weight": 30, "blocks.1.down.weight": 20, "out.weight": 50, "out.bias": 5},
  "order": ["words", "blocks.0.up", "blocks.0.down", "blocks.1.up", "blocks.1.down", "out", "loss"]})";

// "GPU:1" for what is below one of `second`, else "GPU:0".
DeviceOfNode Second(std::vector<std::string> second) {
  return [second = std::move(second)](const std::string& node) {
    for (const std::string& prefix : second)
      if (node.starts_with(prefix)) return std::string("/job:localhost/replica:0/task:0/device:GPU:1");
    return std::string("GPU:0");
  };
}

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
  return "nothing was thrown";
}

TEST(ModulePlacement, PartsAreAsLargeAsTheirDeviceAllows) {
  const ModuleTree modules(kModules);
  EXPECT_THAT(PartsOnOneDevice(modules, Second({}), {}), ElementsAre(FieldsAre("", "GPU:0")));
  EXPECT_THAT(
      PartsOnOneDevice(modules, Second({"blocks/1", "out"}), {}),
      ElementsAre(FieldsAre("words", "GPU:0"), FieldsAre("blocks.0", "GPU:0"), FieldsAre("blocks.1", "GPU:1"),
                  FieldsAre("out", "GPU:1"), FieldsAre("scale", "GPU:0")));
}

// A head that is the table of the words: Accelerate wants to know where it is, a pipeline does not come back
// for it.
TEST(ModulePlacement, TiedParametersLieWhereTheirFirstNameDoes) {
  const ModuleTree modules(
      R"({"modules": {"": "Model", "words": "Embedding", "block": "Linear", "head": "Linear"},
    "parameters": {"words.weight": 400, "block.weight": 30}, "tied": {"head.weight": "words.weight"},
    "order": ["words", "block", "head"]})");
  const DeviceOfNode cut = Second({"block"});
  EXPECT_THAT(
      PartsOnOneDevice(modules, cut, {}),
      ElementsAre(FieldsAre("words", "GPU:0"), FieldsAre("block", "GPU:1"), FieldsAre("head", "GPU:0")));
  EXPECT_THAT(SplitPoints(modules, cut, {}), ElementsAre("block"));
  EXPECT_THAT(PartsOnOneDevice(modules, Second({"words", "block"}), {}), ElementsAre(FieldsAre("", "GPU:1")));
}

// 30 bytes of `up` outweigh the 20 of `down`.
TEST(ModulePlacement, AWholeModuleGoesWhereMostOfItLies) {
  const ModuleTree modules(kModules);
  const DeviceOfNode cut = Second({"blocks/1/up", "out"});
  EXPECT_THAT(PartsOnOneDevice(modules, cut, {}), testing::Contains(FieldsAre("blocks.1.down", "GPU:0")));
  EXPECT_THAT(PartsOnOneDevice(modules, cut, {"Block"}), testing::Contains(FieldsAre("blocks.1", "GPU:1")));
  EXPECT_THAT(SplitPoints(modules, cut, {"Block"}), ElementsAre("blocks.1"));
}

TEST(ModulePlacement, APipelineIsCutWhereTheDeviceChangesAndGoesForward) {
  const ModuleTree modules(kModules);
  EXPECT_THAT(SplitPoints(modules, Second({}), {}), ElementsAre());
  EXPECT_THAT(SplitPoints(modules, Second({"blocks/1", "out"}), {}), ElementsAre("blocks.1"));
  EXPECT_THAT(SplitPoints(modules, Second({"blocks/0/down", "blocks/1", "out"}), {}),
              ElementsAre("blocks.0.down"));
  EXPECT_THAT(MessageOf([&] { SplitPoints(modules, Second({"blocks/0"}), {}); }),
              HasSubstr("comes back to GPU:0 at 'blocks.1'"));
}

TEST(ModulePlacement, FsdpWrapsBlocksOrTheirParts) {
  const ModuleTree modules(kModules);
  EXPECT_THAT(FsdpWraps(modules, Second({})), ElementsAre("blocks.0", "blocks.1"));
  EXPECT_THAT(FsdpWraps(modules, Second({"blocks/1/up"})),
              ElementsAre("blocks.0", "blocks.1.up", "blocks.1.down"));
}

// Devices of one number in two tasks are two devices.
TEST(ModulePlacement, TasksTellDevicesApart) {
  const ModuleTree modules(kModules);
  const DeviceOfNode device = [](const std::string& node) {
    return fmt::format("/job:worker/replica:0/task:{}/device:GPU:0", node.starts_with("out") ? 1 : 0);
  };
  EXPECT_THAT(SplitPoints(modules, device, {}), ElementsAre("out"));
}

// TensorFlow has no kernel on GPUs that pads integers, and one that pads floats.
TEST(ModulePlacement, WhatRunsOnHostsAloneGoesToTheHost) {
  const auto pad = [](const std::string& name, const std::string& type) {
    return "node { name: '" + name + "' op: 'PadV2' attr { key: 'T' value { type: " + type +
           " } } attr { key: 'Tpaddings' value { type: DT_INT32 } } }";
  };
  const Graph graph = ParseGraphText(pad("labels", "DT_INT64") + pad("images", "DT_FLOAT"));
  const std::string task = "/job:worker/replica:0/task:1/device:";
  const std::map<std::string, std::string> near = {{"labels", "GPU:1"}, {"images", "GPU:1"}};
  const std::map<std::string, std::string> far = {{"labels", task + "GPU:1"}, {"gone", "GPU:0"}};
  EXPECT_THAT(WithNodesOfHosts(graph, near),
              ElementsAre(testing::Pair("images", "GPU:1"), testing::Pair("labels", "CPU:0")));
  EXPECT_THAT(WithNodesOfHosts(graph, far),
              ElementsAre(testing::Pair("gone", "GPU:0"), testing::Pair("labels", task + "CPU:0")));
}

TEST(ModulePlacement, APlacementOfAnotherGraphIsRefused) {
  const ModuleTree modules(kModules);
  const DeviceOfNode nothing = [](const std::string&) { return std::string(); };
  EXPECT_THAT(MessageOf([&] { PartsOnOneDevice(modules, nothing, {}); }),
              HasSubstr("does not name the node 'scale'"));
  const DeviceOfNode nonsense = [](const std::string&) { return std::string("somewhere"); };
  EXPECT_THAT(MessageOf([&] { PartsOnOneDevice(modules, nonsense, {}); }),
              HasSubstr("'somewhere' is the name of no device"));
}

TEST(ModuleTree, RefusesWhatIsNoTree) {
  for (const std::string text : {"", "[]", "{}", R"({"modules": {}, "parameters": []})",
                                 R"({"modules": {"a": 1}, "parameters": {}, "order": []})",
                                 R"({"modules": {}, "parameters": {"a": -1}, "order": []})",
                                 R"({"modules": {}, "parameters": {"a": 1e300}, "order": []})",
                                 R"({"modules": {}, "parameters": {}, "order": [1]})",
                                 R"({"modules": {}, "parameters": {}, "order": [], "tied": []})",
                                 R"({"modules": {}, "parameters": {}, "order": [], "tied": {"a": 1}})",
                                 R"({"modules": {}, "parameters": {}, "order": [], "tied": {"a": "b"}})"})
    EXPECT_NE(MessageOf([&] { ModuleTree tree(text); }), "nothing was thrown") << text;
  std::string deep = "a";
  for (int i = 0; i < 600; ++i) deep += ".a";
  EXPECT_THAT(MessageOf([&] {
                ModuleTree(R"({"parameters": {}, "order": [], "modules": {")" + deep + R"(": "A"}})");
              }),
              HasSubstr("lies in more than 500 others"));
}

// Modules that nobody lists are those that they lie in.
TEST(ModuleTree, AParameterBelongsToTheNearestModule) {
  const ModuleTree modules(
      R"({"modules": {"a": "A"}, "parameters": {"a.b.c": 1, "d": 2}, "order": ["a", "z"]})");
  ASSERT_EQ(modules[modules.root()].children.size(), 1u);
  const TorchModule& a = modules[modules[modules.root()].children[0]];
  EXPECT_EQ(a.path, "a");
  ASSERT_EQ(a.parameters.size(), 1u);
  EXPECT_EQ(a.parameters[0].NodeName(), "a/b/c");
  EXPECT_EQ(a.first_use, 0u);
  EXPECT_EQ(modules[modules.root()].parameters[0].name, "d");
}

}  // namespace
}  // namespace lanescope::study
