// SPDX-License-Identifier: Apache-2.0
// Graphs compiled for two virtual GPUs, and what their schedules hold.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "tests/support/random_graph.h"

namespace lanescope::test {

inline Placement Everywhere(const Graph& graph, DeviceId device) {
  Placement placement;
  placement.device.assign(graph.num_nodes(), device);
  return placement;
}

inline TensorInfo Floats(const Shape& shape) {
  TensorInfo info;
  info.dtype = DataType::kFloat;
  info.shape = shape;
  return info;
}

inline Schedule CompileChecked(const Graph& graph, const CompileRequest& request, const Placement& placement,
                               const Machine& machine) {
  const GraphInfo info = InferGraph(graph, request.feeds);
  Schedule schedule = Compile(graph, info, request, placement, machine);
  VerifySchedule(graph, schedule);
  return schedule;
}

inline int Count(const Schedule& schedule, CommandKind kind) {
  return static_cast<int>(std::count_if(schedule.commands.begin(), schedule.commands.end(),
                                        [&](const Command& command) { return command.kind == kind; }));
}

inline CommandId LaunchOf(const Graph& graph, const Schedule& schedule, const std::string& name) {
  for (const CommandId c : schedule.commands.ids()) {
    if (schedule.commands[c].kind == CommandKind::kLaunch &&
        graph.node(schedule.commands[c].node).name == name)
      return c;
  }
  return {};
}

inline bool Precedes(const Schedule& schedule, CommandId a, CommandId b) {
  std::vector<CommandId> stack{a};
  IdVector<CommandId, char> seen(schedule.commands.size(), 0);
  while (!stack.empty()) {
    const CommandId c = stack.back();
    stack.pop_back();
    if (c == b) return true;
    for (const CommandId next : schedule.Successors(c)) {
      if (!seen[next]) {
        seen[next] = 1;
        stack.push_back(next);
      }
    }
  }
  return false;
}

inline const Machine& TwoGpus() {
  static const Machine machine = VirtualMachine(2, 1);
  return machine;
}

inline DeviceId Gpu(int index) { return TwoGpus().Gpus()[static_cast<size_t>(index)]; }

// A graph with placeholders, all on one GPU.
struct Fed {
  GraphBuilder builder;
  std::vector<std::pair<Endpoint, TensorInfo>> feeds;

  Endpoint Feed(const std::string& name, const Shape& shape) {
    const Endpoint endpoint = builder.Placeholder(name, DataType::kFloat, shape);
    feeds.emplace_back(endpoint, Floats(shape));
    return endpoint;
  }
  Endpoint Op(const std::string& op, const std::string& name, const std::vector<Endpoint>& inputs) {
    auto node = builder.Op(op, name);
    for (const Endpoint& input : inputs) node.Input(input);
    return node.Build();
  }
  Schedule Compile(const std::vector<Endpoint>& fetches, bool fuse = true) const {
    return CompileOn(Everywhere(builder.graph(), Gpu(0)), TwoGpus(), fetches, fuse);
  }
  Schedule CompileOn(const Placement& placement, const Machine& machine, const std::vector<Endpoint>& fetches,
                     bool fuse = true) const {
    CompileRequest request;
    request.feeds = feeds;
    request.fetches = fetches;
    request.fuse = fuse;
    return CompileChecked(builder.graph(), request, placement, machine);
  }
};

}  // namespace lanescope::test
