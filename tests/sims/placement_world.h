// SPDX-License-Identifier: Apache-2.0
// Random graphs with random costs on a machine, for tests of the search and of the lower bound.
#pragma once

#include <fmt/core.h>

#include <random>
#include <vector>

#include "core/strategies/task_graph.h"
#include "sims/engine/simulator.h"
#include "sims/predict/predict.h"
#include "tests/sims/effects_of.h"
#include "tests/support/random_graph.h"

namespace lanescope::sims {

// Launches take 1 to 100 us, on the host three times as long; links are so wide that a copy takes 20 us
// whatever its size.
struct PlacementWorld {
  PlacementWorld(unsigned seed, int ops, int variables, int gpus = 2)
      : PlacementWorld(seed, ops, variables, VirtualMachine(gpus, 1)) {}
  PlacementWorld(unsigned seed, int ops, int variables, Machine on)
      : random(test::MakeRandomGraph(seed, ops, variables)),
        step(test::RequestFor(random.graph, random.fetches, random.targets)),
        machine(std::move(on)) {
    std::mt19937 rng(seed);
    for (const NodeId id : random.graph.node_ids()) {
      const auto ns = static_cast<int64_t>(1000 + rng() % 99'000);
      Cost(id, ns, 3 * ns);
    }
    for (LinkSpec& link : machine.links) {
      link.bandwidth = 1e15;
      link.latency_ns = 20'000;
    }
    for (DeviceSpec& device : machine.devices) device.kind = DeviceKind::kModelled;
    for (const DeviceId host : TasksOf(machine).hosts) machine.devices[host].kind = DeviceKind::kHost;
    info = InferGraph(random.graph, {});
  }

  void Cost(NodeId id, int64_t gpu_ns, int64_t cpu_ns) {
    random.graph.node(id).attrs["_lanescope_cost"] =
        fmt::format(R"({{"ns": {{"CPU": {}, "GPU": {}}}}})", cpu_ns, gpu_ns);
  }
  StrategyInput input() const { return {random.graph, info, machine, costs, placer, &step}; }
  int64_t StepOf(const Placement& placement) const {
    const Schedule schedule = Compile(random.graph, info, step, placement, machine);
    return Simulate(schedule, machine,
                    EstimateCommands(random.graph, info, schedule, machine, costs, {}).costs, ModelOf(gaps))
        .step_ns;
  }
  std::vector<DeviceId> RandomDevices(const TaskGraph& tasks, std::mt19937* rng) const {
    std::vector<DeviceId> devices;
    for (const TaskGroup& group : tasks.groups())
      devices.push_back(group.devices[(*rng)() % group.devices.size()]);
    return devices;
  }

  test::RandomGraph random;
  CompileRequest step;
  Machine machine;
  GraphInfo info;
  RooflineCost costs;
  PlacerOptions placer;
  Delays gaps;
};

}  // namespace lanescope::sims
