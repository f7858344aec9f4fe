// SPDX-License-Identifier: Apache-2.0
// Collectives are chosen by the law by which they are simulated: what CollectiveCost says of one is the step
// of the graph that it becomes.
#include <gtest/gtest.h>

#include "core/collective/collective_cost.h"
#include "core/expand/functions.h"
#include "core/machine/cluster_tasks.h"
#include "core/place/placer.h"
#include "core/schedule/cost.h"
#include "sims/engine/simulator.h"
#include "sims/predict/predict.h"
#include "tests/sims/effects_of.h"
#include "tests/support/collective_graph.h"

namespace lanescope::sims {
namespace {

constexpr Dim kElements = 1 << 18;

// Work takes nothing, so that links alone decide; they are of several speeds.
Machine LinksAlone(Machine machine) {
  for (DeviceSpec& device : machine.devices) {
    device.memory_bandwidth = 1e18;
    device.peak_flops[DataType::kFloat] = 1e18;
    device.launch_ns = 0;
    if (device.is_gpu()) device.kind = DeviceKind::kModelled;
  }
  double share = 1;
  for (LinkSpec& link : machine.links) {
    link.bandwidth = 3e9 * share;
    link.latency_ns = 5000;
    share = share > 0.4 ? share - 0.15 : 1;
  }
  return machine;
}

std::vector<DeviceId> Members(const Machine& machine) {
  if (const std::vector<DeviceId> gpus = machine.Gpus(); !gpus.empty()) return gpus;
  return TasksOf(machine).hosts;
}

int64_t SimulatedNs(const Machine& machine, CollectiveKind kind, const std::string& by) {
  GraphBuilder builder;
  std::vector<std::string> devices;
  std::vector<Endpoint> tensors;
  for (const DeviceId member : Members(machine)) {
    devices.push_back(machine.device(member).name);
    const std::string number = std::to_string(tensors.size());
    const Endpoint variable = builder.Op("VariableV2", "v" + number)
                                  .Attr("dtype", DataType::kFloat)
                                  .Attr("shape", Shape{kElements})
                                  .Device(devices.back())
                                  .Build();
    tensors.push_back(builder.Op("Sqrt", "tensor" + number).Input(variable).Device(devices.back()).Build());
  }
  CompileRequest step;
  const auto results =
      test::CollectiveWriter(&builder, devices, by).Write(kind, "all", Shape{kElements}, tensors);
  std::vector<std::string> names;
  for (const Endpoint result : results) names.push_back(builder.graph().node(result.node).name);
  const Graph graph = InlineFunctions(builder.Take(), {.collectives = {.machine = &machine}});
  for (const std::string& name : names) step.fetches.push_back({graph.FindNode(name), -1});
  const GraphInfo info = InferGraph(graph, {});
  const Schedule schedule = Compile(graph, info, step, PlaceGraph(graph, machine, {}), machine);
  const RooflineCost costs;
  return Simulate(schedule, machine, EstimateCommands(graph, info, schedule, machine, costs, {}).costs,
                  ModelOf())
      .step_ns;
}

int64_t CostNs(const Machine& machine, CollectiveKind kind, CollectiveBy by) {
  const MachineTasks tasks = TasksOf(machine);
  const std::vector<DeviceId> devices = Members(machine);
  CollectiveCost cost(machine, tasks, devices, false);
  std::vector<Endpoint> tensors;
  for (size_t i = 0; i < devices.size(); ++i) tensors.push_back(cost.Begin(i, kElements * 4));
  switch (kind) {
    case CollectiveKind::kAllReduce:
      ScheduleAllReduce(by, tensors, kElements, &cost);
      break;
    case CollectiveKind::kAllGather:
      ScheduleAllGather(by, tensors, &cost);
      break;
    case CollectiveKind::kReduceScatter:
      ScheduleReduceScatter(by, tensors, &cost);
      break;
    case CollectiveKind::kBroadcast:
      ScheduleBroadcast(by, tensors[0], devices.size(), kElements, &cost);
      break;
    case CollectiveKind::kAllToAll:  // by NCCL alone
      break;
  }
  return cost.Ns();
}

void ExpectSimulatedAsChosen(const Machine& machine) {
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                    CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast}) {
    for (const auto& [by, name] : {std::pair{CollectiveBy::kRing, "ring"},
                                   {CollectiveBy::kTree, "tree"},
                                   {CollectiveBy::kOneDevice, "one-device"}}) {
      const int64_t simulated = SimulatedNs(machine, kind, name);
      EXPECT_NEAR(static_cast<double>(CostNs(machine, kind, by)), static_cast<double>(simulated), 2)
          << static_cast<int>(kind) << " by " << name;
      EXPECT_GT(simulated, 0);
    }
  }
}

// Processes of two computers, whose interfaces messages share.
TEST(CollectiveTime, OfTasksIsAsSimulated) {
  ExpectSimulatedAsChosen(
      LinksAlone(MachineOfTasks(VirtualMachine(0, 1), ParseClusterTasks("worker=a:2,b:2"))));
}

// GPUs whose engines drive one copy at a time, and whose ways through the host share a bus.
TEST(CollectiveTime, OfGpusIsAsSimulated) { ExpectSimulatedAsChosen(LinksAlone(VirtualMachine(4, 1))); }

}  // namespace
}  // namespace lanescope::sims
