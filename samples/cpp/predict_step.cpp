// Predicts the step time of a graph file on a machine file under every strategy, without running anything:
//   predict_step GRAPH.pbtxt MACHINE.json
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "core/cost.h"
#include "core/error.h"
#include "core/graph_io.h"
#include "core/machine.h"
#include "core/op.h"
#include "core/run_spec.h"
#include "core/schedule.h"
#include "core/step_request.h"
#include "core/strategy.h"
#include "sims/simulator.h"

namespace {

// What each command takes alone, by the rates of the machine file.
lanescope::CommandCosts CostsOf(const lanescope::Schedule& schedule, const lanescope::Graph& graph,
                                const lanescope::Machine& machine, const lanescope::CostModel& model) {
  const auto infos = [&](std::span<const int> values) {
    std::vector<lanescope::TensorInfo> list;
    for (const int number : values) {
      if (number < 0) continue;
      const lanescope::Value& value = schedule.values[static_cast<size_t>(number)];
      lanescope::TensorInfo info;
      info.dtype = value.dtype;
      info.shape = value.shape;
      list.push_back(info);
    }
    return list;
  };
  lanescope::CommandCosts costs;
  for (const lanescope::Command& command : schedule.commands) {
    int64_t ns = 0;
    if (command.kind == lanescope::CommandKind::kLaunch) {
      const int device = schedule.queues[static_cast<size_t>(command.queue)].device;
      ns = model
               .Launch(machine, device, graph.node(command.node), infos(schedule.Inputs(command)),
                       infos(schedule.Outputs(command)))
               .ns;
    } else if (command.kind == lanescope::CommandKind::kCopy) {
      const int src = schedule.CopySource(command), dst = schedule.CopyDestination(command);
      ns = model.Copy(machine, src, dst, command.bytes).ns;
    }
    costs.ns.push_back(ns);
  }
  return costs;
}

void Predict(const char* graph_path, const char* machine_path) {
  const lanescope::Graph graph = lanescope::ReadGraph(graph_path);
  const lanescope::Machine machine = lanescope::ReadMachine(machine_path);
  const auto request = lanescope::StepRequestOf(graph, lanescope::ReadRunSpecBeside(graph_path));
  const lanescope::GraphInfo info = lanescope::InferGraph(graph, request.feeds);
  const lanescope::RooflineCost model;
  const lanescope::PlacerOptions placer;
  for (const lanescope::Strategy& strategy : lanescope::Strategies()) {
    const auto placement = strategy.place({graph, info, machine, model, placer});
    const auto schedule = lanescope::Compile(graph, info, request, placement, machine);
    const auto result = lanescope::Simulate(schedule, machine, CostsOf(schedule, graph, machine, model));
    std::printf("%-16s %10.3f ms  (%zu commands)\n", std::string(strategy.name).c_str(),
                static_cast<double>(result.step_ns) / 1e6, schedule.commands.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: predict_step GRAPH.pbtxt MACHINE.json\n");
    return 2;
  }
  try {
    Predict(argv[1], argv[2]);
    return 0;
  } catch (const lanescope::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
