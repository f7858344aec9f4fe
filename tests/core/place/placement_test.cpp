// SPDX-License-Identifier: Apache-2.0
#include "core/place/placement.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/place/placer.h"

namespace lanescope {
namespace {

IdVector<NodeId, DeviceId> DevicesOf(std::initializer_list<int> numbers) {
  IdVector<NodeId, DeviceId> devices;
  for (const int number : numbers) devices.Add(DeviceId(number));
  return devices;
}

class PlacementTest : public testing::Test {
 protected:
  PlacementTest() {
    Add("a", "Const", "dtype", {});
    Add("b", "Const", "dtype", {});
    Add("product", "MatMul", "T", {{NodeId(0), 0}, {NodeId(1), 0}});
    Add("twin", "MatMul", "T", {{NodeId(0), 0}, {NodeId(1), 0}});
    Add("v", "VariableV2", "dtype", {});
    Add("assign", "Assign", "T", {{NodeId(4), 0}, {NodeId(2), 0}});
    Add("lookup", "LookupTableFindV2", "Tin", {});
    base.device = DevicesOf({1, 1, 1, 1, 1, 1, 0});
  }

  void Add(const std::string& name, const std::string& op, const std::string& type_attr,
           std::vector<Endpoint> inputs) {
    Node node;
    node.name = name;
    node.op = op;
    node.attrs[type_attr] = DataType::kFloat;
    node.inputs = std::move(inputs);
    graph.AddNode(std::move(node));
  }

  std::string ErrorOf(const std::string& json) {
    try {
      ParsePlacement(json, graph, machine, base);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return error.message();
    }
    return "accepted";
  }

  Graph graph;
  Machine machine = VirtualMachine(2, 1);
  Placement base;
};

TEST_F(PlacementTest, NamedNodesMoveOthersKeepTheBase) {
  const Placement placement =
      ParsePlacement(R"({"nodes": {"product": {"device": "/gpu:1", "priority": 7}, "a": {"priority": -1}}})",
                     graph, machine, base);
  EXPECT_EQ(placement.device, DevicesOf({1, 1, 2, 1, 1, 1, 0}));
  EXPECT_EQ(placement.priority, (IdVector<NodeId, int>{-1, 0, 7, 0, 0, 0, 0}));
}

TEST_F(PlacementTest, WritingAndReadingLosesNothing) {
  Placement placement = base;
  placement.device[NodeId(3)] = DeviceId(2);
  placement.priority = {1, 2, 3, 4, 5, 6, 7};
  const Placement back = ParsePlacement(PlacementToJson(placement, graph, machine), graph, machine, base);
  EXPECT_EQ(back.device, placement.device);
  EXPECT_EQ(back.priority, placement.priority);
}

TEST_F(PlacementTest, ANodeIsNamedOnce) {
  EXPECT_EQ(ErrorOf(R"({"nodes": {"a": {"device": "GPU:0"}, "b": {}, "a": {"device": "GPU:1"}}})"),
            "an object has the key 'a' twice; keep one of them");
  EXPECT_EQ(ErrorOf(R"({"nodes": {"a": {"device": "GPU:0"}, "b": {"device": "GPU:0"}}})"), "accepted");
}

TEST_F(PlacementTest, RefusesWhatCannotBe) {
  EXPECT_EQ(ErrorOf(R"({"nodes": {"x": {"device": "GPU:1"}}})"), "placement: the graph has no node 'x'");
  EXPECT_EQ(ErrorOf(R"({"nodes": {"a": {"device": "GPU:9"}}})"),
            "placement of 'a': the machine has no device 'GPU:9'");
  EXPECT_NE(ErrorOf(R"({"nodes": {"lookup": {"device": "GPU:1"}}})").find("has no kernel"),
            std::string::npos);
  EXPECT_EQ(ErrorOf(R"({"nodes": {"v": {"device": "GPU:1"}, "assign": {"device": "GPU:1"}}})"), "accepted");
  for (const char* bad : {"", "[]", "{}", R"({"nodes": []})", R"({"nodes": {"a": 1}})",
                          R"({"nodes": {"a": {"devise": "GPU:1"}}})",
                          R"({"nodes": {"a": {"priority": 1e30}}})", R"({"nodes": {}, "extra": 1})"}) {
    EXPECT_NE(ErrorOf(bad), "accepted") << bad;
  }
}

// Law: a node that is named takes its colocation group along, whichever member it is.
TEST_F(PlacementTest, ANamedNodeTakesItsGroupAlong) {
  for (const char* member : {"v", "assign"}) {
    const std::string json = fmt::format(R"({{"nodes": {{"{}": {{"device": "GPU:1"}}}}}})", member);
    EXPECT_EQ(ParsePlacement(json, graph, machine, base).device, DevicesOf({1, 1, 1, 1, 2, 2, 0})) << member;
  }
}

TEST_F(PlacementTest, MembersOfAGroupOnTwoDevicesAreNamed) {
  EXPECT_EQ(ErrorOf(R"({"nodes": {"assign": {"device": "GPU:1"}, "v": {"device": "GPU:0"}}})"),
            "placement of 'v' on GPU:0 and of 'assign' on GPU:1: the two must share a device; give both the "
            "same, or name one of them");
}

// A group goes nowhere where one of its members cannot run.
TEST_F(PlacementTest, AMemberWithoutAKernelHoldsItsGroup) {
  Node lookup;
  lookup.name = "companion";
  lookup.op = "LookupTableFindV2";
  lookup.attrs["_class"] = std::vector<std::string>{"loc:@twin"};
  graph.AddNode(std::move(lookup));
  base.device = DevicesOf({1, 1, 1, 0, 1, 1, 0, 0});
  const std::string message = ErrorOf(R"({"nodes": {"twin": {"device": "GPU:1"}}})");
  EXPECT_NE(message.find("placement of 'twin': it must share a device with 'companion', and GPU:1 has no"),
            std::string::npos)
      << message;
}

// Nodes that the base placement has parted stay parted: only those that were together follow.
TEST_F(PlacementTest, MembersThatTheBaseHasPartedStay) {
  graph.node(graph.FindNode("product")).attrs["_class"] = std::vector<std::string>{"loc:@twin"};
  base.device = DevicesOf({1, 1, 1, 2, 1, 1, 0});
  EXPECT_EQ(ParsePlacement(R"({"nodes": {"product": {"device": "GPU:1"}}})", graph, machine, base).device,
            DevicesOf({1, 1, 2, 2, 1, 1, 0}));
}

}  // namespace
}  // namespace lanescope
