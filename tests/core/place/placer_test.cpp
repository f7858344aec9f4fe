// SPDX-License-Identifier: Apache-2.0
#include "core/place/placer.h"

#include <gtest/gtest.h>

#include "core/place/placement_log.h"
#include "tests/core/place/placer_world.h"

namespace lanescope {
namespace {

class PlacerTest : public testing::Test, public PlacerWorld {};

TEST_F(PlacerTest, E01_GpuFirstWhereAKernelExists) {
  Add("in", "TestInput");
  Add("n1", "TestRelu", {"in"});
  Add("n2", "TestRelu", {"in:1"});
  Place();
  EXPECT_EQ(LocalOf("in"), "FakeCPU:0");
  EXPECT_EQ(LocalOf("n1"), "FakeGPU:0");
  EXPECT_EQ(LocalOf("n2"), "FakeGPU:0");
}

TEST_F(PlacerTest, E02_KernelPriorityBeatsTheOrderOfTypes) {
  Add("in", "TestInput");
  Add("n1", "TestDatasetOp", {"in"});
  Add("n2", "TestDatasetOp", {"in:1"});
  Place();
  EXPECT_EQ(TypeOf("in"), "FakeCPU");
  EXPECT_EQ(LocalOf("n1"), "FakeCPU:0");
  EXPECT_EQ(LocalOf("n2"), "FakeCPU:0");
}

TEST_F(PlacerTest, E03_CompileOnlyTypesAreNotChosenAutomatically) {
  Add("in", "TestInput");
  Add("n1", "TestXlaOp", {"in"});
  Add("n2", "TestXlaOp", {"in"});
  Assign("n2", std::string(kTaskA) + "/device:XLA_CPU:0");
  Place();
  EXPECT_EQ(TypeOf("in"), "FakeCPU");
  EXPECT_EQ(TypeOf("n1"), "FakeCPU");
  EXPECT_EQ(TypeOf("n2"), "XLA_CPU");
}

TEST_F(PlacerTest, E05_KernelPriorityAndColocation) {
  Add("in", "TestGPUOutput");
  Add("n1", "TestDatasetOp", {"in"}, "", {"in"});
  Add("n2", "TestDatasetOp", {"in"});
  Place();
  EXPECT_EQ(TypeOf("in"), "FakeGPU");
  EXPECT_EQ(TypeOf("n1"), "FakeGPU");
  EXPECT_EQ(TypeOf("n2"), "FakeCPU");
}

// Device order is by name as text: GPU:10 comes before GPU:2.
TEST_F(PlacerTest, DevicesAreOrderedByNameAsText) {
  AddDevice(kTaskA, "FakeGPU", 10);
  const std::vector<DeviceId> order =
      FeasibleDevices(Add("n", "TestCPUGPUOutput"), machine, *options.kernels);
  EXPECT_TRUE(machine.device(order[0]).name.ends_with("FakeGPU:0"));
  EXPECT_TRUE(machine.device(order[2]).name.ends_with("FakeGPU:10"));
  EXPECT_TRUE(machine.device(order[3]).name.ends_with("FakeGPU:2"));
  EXPECT_TRUE(machine.device(order[11]).name.ends_with("FakeCPU:0"));
}

struct PriorityCase {
  const char* ds;
  const char* it;
  const char* type;
};

TEST_F(PlacerTest, E07_E09_E11_E13_E15_PrioritiesAcrossResourceEdges) {
  for (const PriorityCase& c : {PriorityCase{"SP", "NP", "FakeCPU"}, PriorityCase{"NP", "SP", "FakeCPU"},
                                PriorityCase{"SP", "GPU", "FakeGPU"}, PriorityCase{"SP", "SP", "FakeCPU"},
                                PriorityCase{"SP", "RP", "FakeGPU"}, PriorityCase{"RP", "SP", "FakeGPU"},
                                PriorityCase{"RP", "RP", "FakeGPU"}, PriorityCase{"NP", "NP", "FakeGPU"}}) {
    PlacerWorld world;
    world.Add("ds", std::string("CreateDataset") + c.ds);
    world.Add("it", std::string("Iterate") + c.it, {"ds"});
    world.Place();
    EXPECT_EQ(world.TypeOf("ds"), c.type) << c.ds << " " << c.it;
    EXPECT_TRUE(world.Together("ds", "it"));
  }
}

TEST_F(PlacerTest, E17_SoftPlacementMovesAResource) {
  Add("ds", "CreateDatasetSP", {}, "/device:FakeCPU:0");
  Add("it", "IterateGPU", {"ds"});
  Place();
  EXPECT_EQ(LocalOf("ds"), "FakeGPU:0");
  EXPECT_EQ(LocalOf("it"), "FakeGPU:0");
}

TEST_F(PlacerTest, E21_E23_GeneratorFollowsItsConsumer) {
  for (const char* requested : {"", "/device:FakeCPU:1"}) {
    PlacerWorld world;
    world.Add("in", "TestCPUGPUOutput", {}, requested);
    world.Add("var", "VariableCPU");
    world.Add("assign", "Assign", {"var", "in"});
    world.Place();
    EXPECT_EQ(world.LocalOf("var"), "FakeCPU:0");
    EXPECT_EQ(world.LocalOf("assign"), "FakeCPU:0");
    EXPECT_EQ(world.LocalOf("in"), *requested == 0 ? "FakeCPU:0" : "FakeCPU:1");
  }
}

TEST_F(PlacerTest, E22_GeneratorStaysWhereItsConsumerCannotBe) {
  Add("in", "TestGPUOutput");
  Add("var", "VariableCPU");
  Add("assign", "Assign", {"var", "in"});
  Place();
  EXPECT_EQ(LocalOf("in"), "FakeGPU:0");
  EXPECT_EQ(LocalOf("var"), "FakeCPU:0");
  EXPECT_EQ(LocalOf("assign"), "FakeCPU:0");
}

TEST_F(PlacerTest, E24_E25_GeneratorWithSeveralConsumers) {
  for (const bool apart : {false, true}) {
    PlacerWorld world;
    world.Add("in", "TestCPUGPUOutput");
    world.Add("var1", "VariableCPU");
    world.Add("assign1", "Assign", {"var1", "in"});
    world.Add("var2", "VariableCPU");
    world.Add("assign2", "Assign", {"var2", "in"});
    if (apart) {
      world.Assign("var1", std::string(kTaskA) + "/device:FakeCPU:1");
      world.Assign("var2", std::string(kTaskA) + "/device:FakeCPU:2");
    }
    world.Place();
    EXPECT_TRUE(world.Together("var1", "assign1"));
    EXPECT_TRUE(world.Together("var2", "assign2"));
    EXPECT_EQ(world.LocalOf("in"), apart ? "FakeGPU:0" : "FakeCPU:0");
  }
}

TEST_F(PlacerTest, MetadataFollowsItsInput) {
  Add("in", "TestInput");
  Add("on_cpu", "TestRelu", {"in"}, "/device:FakeCPU:3");
  Add("shape", "Shape", {"on_cpu"});
  Add("generator", "TestCPUGPUOutput");
  Add("early", "Shape", {"generator"});
  Place();
  EXPECT_EQ(LocalOf("shape"), "FakeCPU:3");
  EXPECT_EQ(LocalOf("early"), "FakeGPU:0") << "its input is placed in the second pass only";
}

// Law: the order of the nodes in a file decides nothing; an op that is listed before its input follows it
// too.
TEST_F(PlacerTest, TheOrderOfTheFileDecidesNothing) {
  Add("in", "TestInput");
  Add("on_cpu", "TestRelu", {"in"}, "/device:FakeCPU:3");
  Add("shape", "Shape", {"on_cpu"});
  Add("of_shape", "Shape", {"shape"});
  Place();
  PlacerWorld reversed;
  const size_t last = graph.num_nodes() - 1;
  for (const NodeId id : graph.node_ids()) {
    Node node = graph.node(NodeId(last - id.index()));
    for (Endpoint& input : node.inputs) input.node = NodeId(last - input.node.index());
    reversed.graph.AddNode(std::move(node));
  }
  reversed.Place();
  for (const char* name : {"in", "on_cpu", "shape", "of_shape"})
    EXPECT_EQ(reversed.LocalOf(name), LocalOf(name)) << name;
  EXPECT_EQ(reversed.LocalOf("of_shape"), "FakeCPU:3");
}

TEST_F(PlacerTest, MetadataOfAVariableStaysWithIt) {
  Add("var", "VariableCPU");
  Add("shape", "Shape", {"var"});
  Place();
  EXPECT_EQ(LocalOf("shape"), "FakeCPU:0");
}

TEST_F(PlacerTest, PartialRequestKeepsTheOrderOfTypes) {
  Add("in", "TestInput", {}, "/job:a");
  Add("var", "Variable", {}, "/job:a");
  Place();
  EXPECT_EQ(LocalOf("in"), "FakeCPU:0");
  EXPECT_EQ(LocalOf("var"), "FakeGPU:0");
}

TEST_F(PlacerTest, E31_AssignedStays) {
  Add("in", "TestInput");
  Assign("in", std::string(kTaskA) + "/device:FakeCPU:7");
  Place();
  EXPECT_EQ(LocalOf("in"), "FakeCPU:7");
}

TEST_F(PlacerTest, E33_E35_E37_BadAssignments) {
  Add("in", "TestInput");
  Assign("in", kGpu0);
  ExpectError(Code::kInternal,
              {"Assigned device '" + kGpu0 + "' does not have registered OpKernel support for TestInput"});
  for (const std::string device : {"/job:foo", "/job:a"}) {
    Assign("in", device);
    ExpectError(Code::kInternal, {"Assigned device '" + device + "' does not match any device"});
  }
  Assign("in", "/foo:bar");
  ExpectError(Code::kInternal, {"Malformed assigned device '/foo:bar'"});
}

TEST_F(PlacerTest, E38_E39_DeviceIdThatDoesNotExist) {
  Add("in", "TestCPUGPUOutput", {}, "/device:FakeGPU:11");
  Place();
  EXPECT_EQ(LocalOf("in"), "FakeGPU:0") << "soft placement keeps the order of types";
  options.soft_placement = false;
  ExpectError(Code::kInvalidArgument,
              {"/device:FakeGPU:11", "Cannot assign a device for operation in", "{{node in}}",
               "{{node in}} was explicitly assigned to /device:FakeGPU:11 but available devices are [ ",
               " ]. Make sure the device specification refers to a valid device."});
}

TEST_F(PlacerTest, E41_UnknownJob) {
  options.soft_placement = false;
  Add("var", "VariableGPU", {}, "/job:foo/replica:17");
  ExpectError(Code::kInvalidArgument,
              {"was explicitly assigned to /job:foo/replica:17", "but available devices"});
  options.soft_placement = true;
  ExpectError(Code::kInvalidArgument, {"was explicitly assigned to /job:foo/replica:17"});
}

TEST_F(PlacerTest, E43_NoKernelOnTheRequestedType) {
  Add("in", "TestInput", {}, "/device:FakeGPU:0");
  Place();
  EXPECT_EQ(LocalOf("in"), "FakeCPU:0");
  options.soft_placement = false;
  ExpectError(
      Code::kInvalidArgument,
      {"Could not satisfy explicit device specification '/device:FakeGPU:0' because no supported kernel for "
       "FakeGPU devices is available.",
       "Colocation Debug Info:", "TestInput: FakeCPU ", "\n  in (TestInput) /device:FakeGPU:0",
       "Op: TestInput", "Registered kernels:\n  device='FakeCPU'\n"});
}

TEST_F(PlacerTest, E45_NoKernelAtAll) {
  Add("var", "VariableNoKernels");
  ExpectError(Code::kInvalidArgument,
              {"No OpKernel was registered to support Op 'VariableNoKernels' used by {{node var}} with these "
               "attrs: []",
               "Registered devices: [FakeGPU, FakeCPU, XLA_CPU]", "  <no registered kernels>"});
}

TEST_F(PlacerTest, E47_OtherTasksKnowTheirKernels) {
  machine.devices.clear();
  AddDevice("/job:b/replica:0/task:0", "FakeCPU", 0);
  AddDevice("/job:b/replica:0/task:1", "FakeGPU", 0);
  options.default_device = DeviceId(0);
  options.soft_placement = false;
  Add("var", "VariableNoKernels", {}, "/job:b/replica:0/task:1/device:FakeGPU:0");
  Place();
  EXPECT_EQ(DeviceOf("var").name, "/job:b/replica:0/task:1/device:FakeGPU:0");
}

TEST_F(PlacerTest, MalformedRequestsAndNoDevices) {
  Add("in", "TestInput", {}, "/foo:bar");
  ExpectError(Code::kInvalidArgument, {"Malformed device specification '/foo:bar'"});
  machine.devices.clear();
  ExpectError(Code::kFailedPrecondition, {"No devices are registered"});
}

// An op that nothing is known of runs anywhere, so the placer prefers a GPU.
TEST_F(PlacerTest, UnknownOpsAreServedEverywhere) {
  Add("n", "SomebodysOp");
  Place();
  EXPECT_EQ(LocalOf("n"), "FakeGPU:0");
}

TEST_F(PlacerTest, DefaultDeviceComesFirstWhereItQualifies) {
  options.default_device = machine.FindDevice(std::string(kTaskA) + "/device:FakeGPU:4");
  Add("in", "TestInput");
  Add("n", "TestRelu", {"in"});
  Place();
  EXPECT_EQ(LocalOf("in"), "FakeCPU:0");
  EXPECT_EQ(LocalOf("n"), "FakeGPU:4");
}

TEST_F(PlacerTest, LogsInPlacementOrder) {
  std::vector<std::string> lines;
  options.log = [&](NodeId node, DeviceId device) {
    lines.push_back(PlacementLogLine(graph.node(node), machine.device(device)));
  };
  Add("generator", "TestCPUGPUOutput");
  Add("relu", "TestRelu", {"generator"});
  Place();
  EXPECT_EQ(lines, (std::vector<std::string>{"relu: (TestRelu): " + kGpu0,
                                             "generator: (TestCPUGPUOutput): " + kGpu0}));
}

// A hundred thousand nodes in one chain of groups: a quadratic union-find would not end in a test's time.
TEST_F(PlacerTest, LargeGroups) {
  Add("n0", "TestCPUGPUOutput");
  for (int i = 1; i < 100000; ++i) {
    const std::string before = "n" + std::to_string(i - 1);
    Add("n" + std::to_string(i), "TestRelu", {before}, "", {before});
  }
  Place();
  EXPECT_EQ(LocalOf("n99999"), "FakeGPU:0");
}

Node RealNode(const std::string& name, const std::string& op, DataType type, const std::string& device) {
  Node node;
  node.name = name;
  node.op = op;
  node.device = device;
  node.attrs[op == "Const" || op == "VariableV2" ? "dtype" : "T"] = type;
  return node;
}

Graph MatMulProgram(const std::string& const_device, const std::string& matmul_device) {
  Graph graph;
  graph.AddNode(RealNode("a", "Const", DataType::kFloat, const_device));
  graph.AddNode(RealNode("b", "Const", DataType::kFloat, const_device));
  Node matmul = RealNode("MatMul", "MatMul", DataType::kFloat, matmul_device);
  matmul.inputs = {{NodeId(0), 0}, {NodeId(1), 0}};
  graph.AddNode(std::move(matmul));
  return graph;
}

std::vector<std::string> PlacedOn(const Graph& graph, const Machine& machine,
                                  const PlacerOptions& options = {}) {
  std::vector<std::string> names;
  for (const DeviceId device : PlaceGraph(graph, machine, options).device) {
    names.push_back(machine.device(device).local_name());
  }
  return names;
}

TEST(SeedPlacementTest, E91_ConstantsOnTheCpu) {
  EXPECT_EQ(PlacedOn(MatMulProgram("/cpu:0", ""), VirtualMachine(1, 1)),
            (std::vector<std::string>{"CPU:0", "CPU:0", "GPU:0"}));
}

TEST(SeedPlacementTest, E92_E93_MissingGpu) {
  const Graph graph = MatMulProgram("/device:GPU:2", "/device:GPU:2");
  EXPECT_EQ(PlacedOn(graph, VirtualMachine(1, 1)), (std::vector<std::string>{"GPU:0", "GPU:0", "GPU:0"}));
  PlacerOptions hard;
  hard.soft_placement = false;
  EXPECT_THROW(PlacedOn(graph, VirtualMachine(1, 1), hard), Error);
}

// There is no int32 variable kernel for GPUs.
TEST(SeedPlacementTest, E94_E95_IntegerVariable) {
  Graph graph;
  graph.AddNode(RealNode("v", "VariableV2", DataType::kInt32, "/device:GPU:0"));
  graph.AddNode(RealNode("c", "Const", DataType::kInt32, "/device:GPU:0"));
  Node assign = RealNode("assign", "Assign", DataType::kInt32, "/device:GPU:0");
  assign.inputs = {{NodeId(0), 0}, {NodeId(1), 0}};
  graph.AddNode(std::move(assign));
  const std::vector<std::string> placed = PlacedOn(graph, VirtualMachine(1, 1));
  EXPECT_EQ(placed[0], "CPU:0");
  EXPECT_EQ(placed[2], "CPU:0");
  PlacerOptions hard;
  hard.soft_placement = false;
  EXPECT_THROW(PlacedOn(graph, VirtualMachine(1, 1), hard), Error);
}

}  // namespace
}  // namespace lanescope
