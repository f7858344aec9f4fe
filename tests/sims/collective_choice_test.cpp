// SPDX-License-Identifier: Apache-2.0
// Which algorithm a collective is done by: the one that the simulator finds best, or one near to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/expand/functions.h"
#include "core/machine/cluster_tasks.h"
#include "core/machine/tasks.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"
#include "sims/predict/predict.h"
#include "tests/support/collective_graph.h"

namespace lanescope::sims {
namespace {

using test::CollectiveWriter;

// Tasks on hosts, each with so many virtual GPUs or with its host alone.
struct Network {
  const char* name;
  const char* hosts;  // as --cluster says it
  int gpus = 0;
  double bandwidth = 1e9;  // between tasks
  int64_t latency_ns = 200'000;
  double interface = 0;  // bandwidth of each computer's; 0: it has none
};

Machine MachineOf(const Network& network) {
  Machine each = VirtualMachine(network.gpus, 1);
  for (DeviceSpec& device : each.devices) device.memory_bandwidth = 50e9;
  Machine machine = MachineOfTasks(each, ParseClusterTasks(std::string("worker=") + network.hosts));
  const MachineTasks tasks = TasksOf(machine);
  for (LinkSpec& link : machine.links) {
    if (tasks.SameTask(link.a, link.b)) continue;
    const bool is_far = network.interface == 0 || link.latency_ns > 100'000;
    link.bandwidth = is_far ? network.bandwidth : 8e9;
    link.latency_ns = is_far ? network.latency_ns : 60'000;
  }
  for (NicSpec& nic : machine.nics) nic.bandwidth = network.interface;
  if (network.interface == 0) machine.nics.clear();
  return machine;
}

// The devices that take part: all GPUs, or the hosts where there are none.
std::vector<std::string> DevicesOf(const Machine& machine) {
  std::vector<std::string> names;
  for (const DeviceId gpu : machine.Gpus()) names.push_back(machine.device(gpu).name);
  if (!names.empty()) return names;
  for (const DeviceSpec& device : machine.devices) names.push_back(device.name);
  return names;
}

// A step of one collective whose tensors are there at once.
int64_t SimulatedNs(const Machine& machine, CollectiveKind kind, int64_t bytes, const std::string& by) {
  const std::vector<std::string> devices = DevicesOf(machine);
  const auto rows = static_cast<int64_t>(devices.size());
  // An all-gather's result is as large.
  const int64_t columns = bytes / 4 / rows;
  const Shape shape{kind == CollectiveKind::kAllGather ? 1 : rows, columns};
  GraphBuilder builder;
  const Endpoint dims = builder.Const(
      "dims", Tensor::FromValues(Shape{2}, std::vector<int32_t>{static_cast<int32_t>(shape[0]),
                                                                static_cast<int32_t>(shape[1])}));
  std::vector<Endpoint> tensors;
  for (size_t i = 0; i < devices.size(); ++i) {
    tensors.push_back(builder.Op("RandomUniform", "tensor" + std::to_string(i))
                          .Input(dims)
                          .Attr("dtype", DataType::kFloat)
                          .Attr("_lanescope_cost", R"({"ns": {"CPU": 0, "GPU": 0}})")
                          .Device(devices[i])
                          .Build());
  }
  CollectiveWriter(&builder, devices, by).Write(kind, "all", shape, tensors);
  const Graph graph = InlineFunctions(builder.Take(), {.collectives = {.machine = &machine}});
  CompileRequest request;
  for (size_t i = 0; i < devices.size(); ++i)
    request.fetches.push_back({graph.FindNode("all/" + std::to_string(i)), -1});
  const GraphInfo info = InferGraph(graph, {});
  const Schedule schedule = Compile(graph, info, request, PlaceGraph(graph, machine, {}), machine);
  PredictionSettings settings;
  settings.draws = 0;
  return Predict(graph, info, schedule, machine, RooflineCost(), settings).step_ns;
}

constexpr int64_t kSizes[] = {1 << 10, 64 << 10, 1 << 20, 16 << 20};

const std::vector<Network>& Networks() {
  static const std::vector<Network> networks = {
      {"slow, 2 tasks", "a,b", 0, 1e9, 2'000'000},
      {"slow, 4 tasks", "a,b,c,d", 0, 1e9, 2'000'000},
      {"slow, 8 tasks", "a,b,c,d,e,f,g,h", 0, 1e9, 2'000'000},
      {"fast, 2 tasks", "a,b", 0, 10e9, 20'000},
      {"fast, 4 tasks", "a,b,c,d", 0, 10e9, 20'000},
      {"fast, 8 tasks", "a,b,c,d,e,f,g,h", 0, 10e9, 20'000},
      {"interfaces of 2 computers, 2 tasks", "a,b", 0, 1e9, 200'000, 1e9},
      {"interfaces of 2 computers, 4 tasks", "a:2,b:2", 0, 1e9, 200'000, 1e9},
      {"interfaces of 2 computers, 8 tasks", "a:4,b:4", 0, 1e9, 200'000, 1e9},
      {"interfaces of 8 computers, 8 tasks", "a,b,c,d,e,f,g,h", 0, 1e9, 200'000, 1e9},
      {"interfaces of uneven computers, 4 tasks", "a:3,b", 0, 1e9, 200'000, 1e9},
      {"2 GPUs each, 2 tasks", "a,b", 2, 1e9, 200'000, 1e9},
      {"4 GPUs each, 2 tasks", "a,b", 4, 1e9, 200'000, 1e9},
      {"3 GPUs each, 4 tasks", "a:2,b:2", 3, 1e9, 200'000, 1e9},
      {"1 GPU each, 4 tasks", "a,b,c,d", 1, 10e9, 20'000},
      {"4 GPUs, 1 task", "a", 4},
      {"8 GPUs, 1 task", "a", 8},
  };
  return networks;
}

// Law: a collective that asks for no algorithm takes within a tenth of what the best of them takes.
void ExpectGoodChoice(CollectiveKind kind, const std::vector<std::string>& algorithms) {
  for (const Network& network : Networks()) {
    const Machine machine = MachineOf(network);
    for (const int64_t bytes : kSizes) {
      int64_t best = INT64_MAX;
      std::string all;
      for (const std::string& by : algorithms) {
        const int64_t ns = SimulatedNs(machine, kind, bytes, by);
        all += fmt::format(" {} {}", by, ns);
        best = std::min(best, ns);
      }
      const int64_t chosen = SimulatedNs(machine, kind, bytes, "");
      EXPECT_LE(static_cast<double>(chosen), 1.1 * static_cast<double>(best))
          << CollectiveKindName(kind) << " of " << bytes << " bytes, " << network.name << ":" << all;
    }
  }
}

TEST(CollectiveChoice, AllReducesAreNearTheBest) {
  ExpectGoodChoice(CollectiveKind::kAllReduce, {"ring", "tree", "one-device", "hierarchical"});
}
TEST(CollectiveChoice, AllGathersAreNearTheBest) {
  ExpectGoodChoice(CollectiveKind::kAllGather, {"ring", "tree", "one-device"});
}
TEST(CollectiveChoice, ReduceScattersAreNearTheBest) {
  ExpectGoodChoice(CollectiveKind::kReduceScatter, {"ring", "tree", "one-device"});
}
TEST(CollectiveChoice, BroadcastsAreNearTheBest) {
  ExpectGoodChoice(CollectiveKind::kBroadcast, {"ring", "tree", "one-device"});
}

}  // namespace
}  // namespace lanescope::sims
