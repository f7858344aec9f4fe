// SPDX-License-Identifier: Apache-2.0
// All-reduces by NCCL in a study: where they are, and what is placed where they cannot be.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/collective/joint_launch.h"
#include "core/graph/graph_builder.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"

namespace lanescope::study {
namespace {

// 2 x on each of two GPUs, summed over both.
Workload Summed(bool joint) {
  WorkloadOptions options;
  options.joint_launches = joint;
  GraphBuilder builder;
  RunSpec spec;
  for (int gpu = 0; gpu < 2; ++gpu) {
    const std::string at = std::to_string(gpu), device = "/device:GPU:" + at;
    const Endpoint x = builder.Placeholder("x" + at, DataType::kFloat, Shape{64});
    const Endpoint double_x = builder.Op("AddV2", "double" + at).Input(x).Input(x).Device(device).Build();
    builder.Op("NcclAllReduce", "sum" + at)
        .Input(double_x)
        .Attr("reduction", "sum")
        .Attr("num_devices", 2)
        .Attr("shared_name", "sum")
        .Device(device)
        .Build();
    spec.feeds["x" + at].shape = Shape{64};
    spec.feeds["x" + at].generator = "uniform";
    spec.fetches.push_back("sum" + at);
  }
  return Workload("summed", builder.Take(), spec, options);
}

Machine ModelledGpus() {
  Machine machine = VirtualMachine(2, 1);
  for (DeviceSpec& device : machine.devices) {
    if (device.is_gpu()) device.kind = DeviceKind::kModelled;
  }
  return machine;
}

int CountJoint(const Graph& graph) {
  return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                        [](const Node& node) { return !JointLaunchOf(node).empty(); }));
}

TEST(JointLaunchesTest, AreForGpusThatAreNotVirtual) {
  EXPECT_TRUE(TakesJointLaunches(ModelledGpus(), "nccl"));
  EXPECT_FALSE(TakesJointLaunches(ModelledGpus(), "ring"));
  EXPECT_FALSE(TakesJointLaunches(ModelledGpus(), "")) << "no GPU of hardware";
  EXPECT_FALSE(TakesJointLaunches(VirtualMachine(2, 1), "nccl"));
}

// A strategy may put both parts on one GPU, or the machine have no NCCL: then the graph that is placed has
// copies, and gives the same.
TEST(JointLaunchesTest, BecomeCopiesWhereTheyCannotRun) {
  const Workload joint = Summed(true), copies = Summed(false);
  ASSERT_EQ(CountJoint(joint.graph()), 2);
  ASSERT_EQ(CountJoint(copies.graph()), 0);
  const Machine modelled = ModelledGpus(), virtual_gpus = VirtualMachine(2, 1);
  const PlacedGraph kept = Place(joint, "annotated", modelled, RooflineCost());
  EXPECT_EQ(kept.workload, &joint);
  EXPECT_NO_THROW(VerifySchedule(joint.graph(), CompileStep(kept, modelled)));
  const PlacedGraph single = Place(joint, "single", modelled, RooflineCost());
  EXPECT_EQ(CountJoint(single.workload->graph()), 0);
  EXPECT_EQ(single.workload, single.written.get());
  EXPECT_NO_THROW(VerifySchedule(single.workload->graph(), CompileStep(single, modelled)));
  EXPECT_EQ(LossAfter(joint, "annotated", virtual_gpus, 1), LossAfter(copies, "annotated", virtual_gpus, 1));
}

// A part costs what its all-reduce takes, and a launch.
TEST(JointLaunchesTest, ArePredicted) {
  const Machine machine = ModelledGpus();
  const Workload joint = Summed(true);
  const PlacedGraph placed = Place(joint, "annotated", machine, RooflineCost());
  const Node& part = joint.graph().node(joint.graph().FindNode("sum0/part"));
  const std::vector<TensorInfo> tensor = joint.InputInfos(joint.graph().FindNode("sum0/part"));
  EXPECT_EQ(RooflineCost().Launch(machine, machine.Gpus()[0], part, tensor, tensor).ns,
            JointLaunchNs(machine, part, 256) + machine.device(machine.Gpus()[0]).launch_ns);
}

}  // namespace
}  // namespace lanescope::study
