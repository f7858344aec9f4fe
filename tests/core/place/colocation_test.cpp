// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/core/place/placer_world.h"
#include "tests/support/ids.h"

namespace lanescope {
namespace {

class ColocationTest : public testing::Test, public PlacerWorld {};

struct EdgeCase {
  const char* variable;
  const char* assign;
  const char* type;  // empty: cannot be placed
};

TEST_F(ColocationTest, E51_E53_E55_E57_E59_VariablesAndTheirAssigns) {
  const EdgeCase cases[] = {{"", "", "FakeGPU"},    {"", "CPU", "FakeCPU"},    {"", "GPU", "FakeGPU"},
                            {"CPU", "", "FakeCPU"}, {"CPU", "CPU", "FakeCPU"}, {"CPU", "GPU", ""},
                            {"GPU", "", "FakeGPU"}, {"GPU", "CPU", ""},        {"GPU", "GPU", "FakeGPU"}};
  for (const std::string prefix : {"", "Handle"}) {
    for (const EdgeCase& c : cases) {
      PlacerWorld world;
      world.Add("in", "TestInput");
      for (int i = 0; i < 10; ++i) {
        const std::string number = std::to_string(i);
        world.Add("var_" + number, prefix + "Variable" + c.variable);
        world.Add("assign_" + number, prefix + "Assign" + c.assign, {"var_" + number, "in"});
      }
      if (*c.type == 0) {
        world.ExpectError(Code::kInvalidArgument, {"no device type supports both of those nodes",
                                                   "Nodes were connected by a reference connection"});
        continue;
      }
      world.Place();
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(world.TypeOf("var_" + std::to_string(i)), c.type) << c.variable << " " << c.assign;
        EXPECT_TRUE(world.Together("var_" + std::to_string(i), "assign_" + std::to_string(i)));
      }
    }
  }
}

TEST_F(ColocationTest, E60_E61_ResourcesOnDifferentDevices) {
  for (const bool soft : {false, true}) {
    for (const bool assigned : {false, true}) {
      PlacerWorld world;
      world.options.soft_placement = soft;
      world.Add("var_cpu", "HandleVariable", {}, assigned ? "" : kCpu0);
      world.Add("var_gpu", "HandleVariable", {}, assigned ? "" : kGpu0);
      world.Add("two", "TestTwoHandles", {"var_cpu", "var_gpu"});
      if (assigned) {
        world.Assign("var_cpu", kCpu0);
        world.Assign("var_gpu", kGpu0);
      }
      world.ExpectError(Code::kInvalidArgument,
                        {std::string("Cannot place the graph because a reference or resource edge connects "
                                     "colocation groups with incompatible ") +
                             (assigned ? "assigned" : "resource") + " devices: " + kGpu0 + " vs " + kCpu0,
                         ". The edge src node is var_gpu , and the dst node is two"});
    }
  }
}

TEST_F(ColocationTest, E63_TheMoreSpecificRequestWins) {
  options.soft_placement = false;
  Add("in", "TestInput", {}, "/job:a/task:0");
  Add("var", "Variable", {}, "/job:a/task:0");
  Add("assign", "Assign", {"var", "in"}, "/job:a/task:0/device:FakeCPU:0");
  Place();
  EXPECT_EQ(LocalOf("var"), "FakeCPU:0");
  EXPECT_EQ(LocalOf("assign"), "FakeCPU:0");
}

TEST_F(ColocationTest, E64_VariableWithoutRequestFollowsItsAssign) {
  options.soft_placement = false;
  Add("in", "TestDevice", {}, "/job:a/task:0/device:FakeGPU:0");
  Add("var", "Variable");
  Add("assign", "Assign", {"var", "in"}, "/job:a/task:0/device:FakeCPU:0");
  Place();
  EXPECT_EQ(LocalOf("var"), "FakeCPU:0");
  EXPECT_EQ(LocalOf("assign"), "FakeCPU:0");
}

TEST_F(ColocationTest, RequestOfTheDestinationGivesWay) {
  options.soft_placement = false;
  Add("in", "TestInput");
  Add("var", "Variable", {}, "/device:FakeGPU:1");
  Add("assign", "Assign", {"var", "in"}, "/device:FakeCPU:2");
  Place();
  EXPECT_EQ(LocalOf("var"), "FakeGPU:1");
  EXPECT_EQ(LocalOf("assign"), "FakeGPU:1");
}

TEST_F(ColocationTest, E65_SoftRequestsFollowTheVariable) {
  Add("var_gpu", "VariableGPU");
  Add("force_gpu", "TestDeviceEnforce", {"var_gpu"}, "/device:FakeCPU:0");
  Add("var_cpu", "VariableCPU");
  Add("force_cpu", "TestDeviceEnforce", {"var_cpu"}, "/device:FakeGPU:0");
  Place();
  EXPECT_EQ(TypeOf("var_gpu"), "FakeGPU");
  EXPECT_EQ(TypeOf("force_gpu"), "FakeGPU");
  EXPECT_EQ(TypeOf("var_cpu"), "FakeCPU");
  EXPECT_EQ(TypeOf("force_cpu"), "FakeCPU");
}

TEST_F(ColocationTest, E70_E71_GroupsJoin) {
  Add("in", "TestInput");
  Add("colocated_1", "TestRelu", {"in"}, "", {"in"});
  Add("foo", "TestRelu", {"in"}, "", {"in", "colocated_1"});
  Place();
  EXPECT_EQ(LocalOf("in"), "FakeCPU:0");
  EXPECT_TRUE(Together("in", "colocated_1"));
  EXPECT_TRUE(Together("in", "foo"));
}

TEST_F(ColocationTest, E72_E73_ImpossibleGroup) {
  Add("in", "TestInput");
  Add("colocated_1", "ReluGPU", {"in"});
  Add("foo", "ReluGPU", {"in"}, "", {"in"});
  Place();
  EXPECT_EQ(TypeOf("in"), "FakeCPU");
  EXPECT_EQ(TypeOf("foo"), "FakeGPU");
  options.soft_placement = false;
  ExpectError(
      Code::kInvalidArgument,
      {"Cannot colocate nodes {{colocation_node foo}} and {{colocation_node in}} because no device type "
       "supports both of those nodes and the other nodes colocated with them",
       "Colocation Debug Info:\nColocation group had the following types and supported devices: ",
       "\nReluGPU: FakeGPU ", "\nTestInput: FakeCPU ", "[[{{node foo}}]]"});
}

TEST_F(ColocationTest, GroupsOfReferencesOnOneDevice) {
  Add("in", "TestInput");
  Add("var1", "VariableCPU");
  Add("var2", "VariableCPU");
  Add("assign1", "Assign", {"var1", "in"}, "", {"var1"});
  Add("assign2", "Assign", {"var2", "in"}, "", {"var2"});
  Place();
  for (const char* name : {"in", "var1", "var2", "assign1", "assign2"}) EXPECT_EQ(LocalOf(name), "FakeCPU:0");
}

TEST_F(ColocationTest, E74_E75_SoftGroupsOfVariables) {
  Add("in", "TestInput");
  Add("var1", "VariableCPU");
  Add("var2", "Variable", {}, "", {"var1"});
  Add("var3", "VariableGPU");
  Add("assign1", "Assign", {"var1", "in"});
  Add("assign2", "Assign", {"var2", "in"});
  Add("assign3", "Assign", {"var3", "in"}, "", {"var2"});
  Place();
  EXPECT_TRUE(Together("var1", "var2"));
  EXPECT_TRUE(Together("var3", "assign3"));
  EXPECT_EQ(TypeOf("var3"), "FakeGPU");
  options.soft_placement = false;
  ExpectError(Code::kInvalidArgument, {"Cannot colocate nodes {{colocation_node assign3}} and "});
}

TEST_F(ColocationTest, E77_ManyGroups) {
  Add("in", "TestInput");
  for (int i = 0; i < 100; ++i) {
    const auto with = [i](const char* name, int modulus) {
      std::vector<std::string> names;
      if (i >= 10) names.push_back(name + std::to_string(i % modulus));
      return names;
    };
    const std::string number = std::to_string(i);
    Add("var_" + number, "Variable", {}, "", with("var_", 6));
    Add("assign_" + number, "Assign", {"var_" + number, "in"}, "", with("assign_", 3));
  }
  Place();
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    EXPECT_TRUE(Together("var_" + number, "assign_" + number));
    if (i < 10) continue;
    EXPECT_TRUE(Together("var_" + number, "var_" + std::to_string(i % 6)));
    EXPECT_TRUE(Together("assign_" + number, "assign_" + std::to_string(i % 3)));
  }
}

TEST_F(ColocationTest, E79_RequestedResourcesStayApart) {
  Add("a", "HandleVariable", {}, "/device:FakeGPU:0");
  Add("b", "HandleVariable", {}, "/device:FakeCPU:0");
  Add("id1", "HandleIdentity", {"a"}, "", {"id2"});
  Add("id2", "HandleIdentity", {"b"});
  Place();
  EXPECT_EQ(LocalOf("a"), "FakeGPU:0");
  EXPECT_EQ(LocalOf("id1"), "FakeGPU:0");
  EXPECT_EQ(LocalOf("b"), "FakeCPU:0");
  EXPECT_EQ(LocalOf("id2"), "FakeCPU:0");
}

TEST_F(ColocationTest, E81_RequestsOnOtherNodesGiveWay) {
  Add("a", "HandleVariable");
  Add("b", "HandleVariable");
  Add("id_a", "HandleIdentity", {"a"}, "/device:FakeGPU:0");
  Add("id_b", "HandleIdentity", {"b"}, "/device:FakeCPU:0");
  Add("id1", "HandleIdentity", {"id_a"}, "", {"id2"});
  Add("id2", "HandleIdentity", {"id_b"});
  Place();
  EXPECT_TRUE(Together("a", "b"));
  EXPECT_TRUE(Together("id_a", "id_b"));
  EXPECT_TRUE(Together("id1", "id2"));
}

TEST_F(ColocationTest, GroupConflictNamesTheGroupsDevice) {
  options.soft_placement = false;
  Add("n1", "ReluGPU", {}, "/device:FakeGPU:20");
  Add("n2", "ReluGPU", {}, "/job:a", {"n1"});
  graph.node(NodeId(0)).inputs.clear();
  ExpectError(Code::kInvalidArgument, {"FakeGPU:20"});
}

TEST_F(ColocationTest, GroupNumbersAreThoseOfTheFirstMember) {
  Add("in", "TestInput");
  Add("var", "Variable");
  Add("assign", "Assign", {"var", "in"});
  Add("relu", "TestRelu", {"in"}, "", {"later"});
  Add("later", "TestRelu", {"in"});
  const auto groups = ColocationGroups(graph, options.registry);
  EXPECT_EQ(std::vector<NodeId>(groups.begin(), groups.end()), test::Ids<NodeId>({0, 1, 1, 3, 3}));
}

}  // namespace
}  // namespace lanescope
