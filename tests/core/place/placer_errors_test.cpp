// SPDX-License-Identifier: Apache-2.0
// Refusals of the placer, in TensorFlow's own words.
#include <gtest/gtest.h>

#include "tests/core/place/placer_world.h"

namespace lanescope {
namespace {

class PlacerErrorsTest : public testing::Test, public PlacerWorld {
 protected:
  // One device of each kind on two tasks of job b.
  void TwoTasks(const std::string& gpu_task, const std::string& cpu_task) {
    machine.devices.clear();
    AddDevice(gpu_task, "FakeGPU", 0);
    AddDevice(cpu_task, "FakeCPU", 0);
  }
};

TEST_F(PlacerErrorsTest, RequestOnTypeWithoutKernelStrict) {
  options.soft_placement = false;
  Add("var", "VariableGPU", {}, "/device:FakeCPU:0");
  ExpectError(Code::kInvalidArgument,
              {"Cannot assign a device for operation var: ", "/device:FakeCPU:0",
               "no supported kernel for FakeCPU devices is available", "Op: VariableGPU",
               "Registered kernels:\n  device='FakeGPU'\n", "[[{{node var}}]]"});
}

TEST_F(PlacerErrorsTest, MissingGpuIsNamedWhereNoDeviceIsAGpu) {
  options.soft_placement = false;
  const std::string hint = "The requested device appears to be a GPU, but CUDA is not enabled.";
  for (const std::string device : {"/device:gpu:0", "/device:GPU:0", "/gpu:0"}) {
    PlacerWorld world;
    world.options.soft_placement = false;
    world.Add("var", "VariableGPU", {}, device);
    world.ExpectError(Code::kInvalidArgument, {"was explicitly assigned to " + device, hint});
  }
  AddDevice(kTaskA, "GPU", 0);
  Add("var", "VariableGPU", {}, "/device:GPU:1");
  try {
    Place();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find(hint), std::string::npos) << error.message();
  }
}

TEST_F(PlacerErrorsTest, KernelForATypeThatNoDeviceHas) {
  machine.devices.clear();
  AddDevice(kTaskA, "FakeCPU", 0);
  Add("var", "VariableGPU");
  ExpectError(Code::kInvalidArgument,
              {"No OpKernel was registered to support Op 'VariableGPU' used by {{node var}}",
               "Registered devices: [FakeCPU]", "  device='FakeGPU'\n"});
}

TEST_F(PlacerErrorsTest, NoKernelOnTheLocalTask) {
  TwoTasks("/job:b/replica:0/task:0", "/job:b/replica:0/task:0");
  options.default_device = DeviceId(1);
  options.soft_placement = false;
  Add("var", "VariableNoKernels", {}, "/job:b/replica:0/task:0/device:FakeGPU:0");
  ExpectError(Code::kInvalidArgument,
              {"No OpKernel was registered to support Op 'VariableNoKernels' used by {{node var}}",
               "<no registered kernels>"});
}

TEST_F(PlacerErrorsTest, GroupNeedsADeviceThatItsTaskLacks) {
  TwoTasks("/job:b/replica:0/task:0", "/job:b/replica:0/task:1");
  Add("in", "TestInput");
  Add("var", "VariableGPU");
  Add("assign", "Assign", {"var", "in"}, "/job:b/task:1");
  ExpectError(Code::kInvalidArgument,
              {"Cannot assign a device for operation var: ",
               "colocated with a group of nodes that required incompatible device '/job:b/task:1'",
               "VariableGPU: FakeGPU", "Assign: FakeGPU FakeCPU"});
}

TEST_F(PlacerErrorsTest, UnknownJobIsNeverSoftened) {
  Add("in", "TestInput", {}, "/job:foo");
  ExpectError(Code::kInvalidArgument,
              {"{{node in}} was explicitly assigned to /job:foo but available devices are [ " + kCpu0});
}

// The device of `a` was given from outside and stands; the op that must share it has no kernel there.
TEST_F(PlacerErrorsTest, AssignedDeviceOfAColocatedNodeIsRespected) {
  for (const bool soft : {false, true}) {
    PlacerWorld world;
    world.options.soft_placement = soft;
    world.Add("a", "HandleVariable");
    world.Add("iter", "IterateGPU", {"a"});
    world.Assign("a", kCpu0);
    world.ExpectError(
        Code::kInvalidArgument,
        {"Cannot assign a device for operation iter: ",
         "{{colocation_node iter}} was colocated with a group of nodes that required incompatible "
         "device '" +
             kCpu0 + "'"});
  }
}

TEST_F(PlacerErrorsTest, E80_RequestedResourcesCannotBeColocatedStrict) {
  options.soft_placement = false;
  Add("a", "HandleVariable", {}, "/device:FakeGPU:0");
  Add("b", "HandleVariable", {}, "/device:FakeCPU:0");
  Add("id1", "HandleIdentity", {"a"}, "", {"id2"});
  Add("id2", "HandleIdentity", {"b"});
  ExpectError(
      Code::kInvalidArgument,
      {"Cannot colocate nodes {{colocation_node id2}} and {{colocation_node id1}}: Cannot merge devices "
       "with incompatible types: '/device:FakeCPU:0' and '/device:FakeGPU:0'",
       "[[{{node id2}}]]"});
}

TEST_F(PlacerErrorsTest, AssignedDevicesOutlastColocation) {
  for (const bool soft : {true, false}) {
    PlacerWorld world;
    world.options.soft_placement = soft;
    world.Add("a", "HandleVariable");
    world.Add("b", "HandleVariable");
    world.Add("id_a", "HandleIdentity", {"a"});
    world.Add("id_b", "HandleIdentity", {"b"});
    world.Add("id1", "HandleIdentity", {"id_a"}, "", {"id2"});
    world.Add("id2", "HandleIdentity", {"id_b"});
    world.Assign("id_a", kGpu0);
    world.Assign("id_b", kCpu0);
    if (!soft) {
      world.ExpectError(Code::kInvalidArgument,
                        {"Cannot colocate nodes {{colocation_node id2}} and {{colocation_node id1}}: Cannot "
                         "merge devices with incompatible types: '" +
                         kCpu0 + "' and '" + kGpu0 + "'"});
      continue;
    }
    world.Place();
    for (const char* name : {"a", "id_a", "id1"}) EXPECT_EQ(world.LocalOf(name), "FakeGPU:0") << name;
    for (const char* name : {"b", "id_b", "id2"}) EXPECT_EQ(world.LocalOf(name), "FakeCPU:0") << name;
  }
}

TEST_F(PlacerErrorsTest, ConflictAcrossAReferenceNamesBothEnds) {
  Add("var", "VariableGPU");
  Add("in", "TestInput");
  Add("assign", "AssignCPU", {"var", "in"});
  ExpectError(
      Code::kInvalidArgument,
      {"Nodes were connected by a reference connection (requiring them to be on the same device), but the "
       "two nodes were assigned two different devices: ",
       "Cannot colocate nodes {{colocation_node var}} and {{colocation_node assign}}"});
}

TEST_F(PlacerErrorsTest, AssignedNodeIsLoggedInItsTurn) {
  std::vector<std::string> names;
  options.log = [&](NodeId node, DeviceId) { names.push_back(graph.node(node).name); };
  Add("given", "TestCPUGPUOutput");
  Add("generator", "TestCPUGPUOutput");
  Add("relu", "TestRelu", {"generator"});
  Assign("given", std::string(kTaskA) + "/device:FakeCPU:5");
  Place();
  EXPECT_EQ(names, (std::vector<std::string>{"given", "relu", "generator"}));
  EXPECT_EQ(LocalOf("given"), "FakeCPU:5");
}

}  // namespace
}  // namespace lanescope
