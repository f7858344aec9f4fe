// SPDX-License-Identifier: Apache-2.0
// Random training-like graphs for tests of the compiler, the executor and the simulator.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"

namespace lanescope::test {

struct RandomGraph {
  Graph graph;
  std::vector<std::string> init;  // targets that give the variables their values
  std::vector<std::string> fetches;
  std::vector<std::string> targets;  // updates
};

// `ops` float operators on vectors of `width` with data and control edges, over `variables` reference
// variables that are read, combined and updated. All arithmetic is addition, subtraction and multiplication
// by 0.5, so that results are exact enough to compare bit by bit.
inline RandomGraph MakeRandomGraph(unsigned seed, int ops, int variables, int width = 16) {
  std::mt19937 rng(seed);
  const auto pick = [&](size_t n) { return static_cast<size_t>(rng() % n); };
  RandomGraph result;
  GraphBuilder builder;
  std::vector<Endpoint> values;
  std::vector<Endpoint> refs;
  const Shape shape{width};
  std::vector<float> numbers(static_cast<size_t>(width));
  for (int i = 0; i < 3; ++i) {
    for (float& x : numbers) x = static_cast<float>(rng() % 17) / 8.0f;
    values.push_back(builder.Const("const" + std::to_string(i), Tensor::FromValues(shape, numbers)));
  }
  for (int v = 0; v < variables; ++v) {
    const std::string name = "var" + std::to_string(v);
    const Endpoint ref =
        builder.Op("VariableV2", name).Attr("dtype", DataType::kFloat).Attr("shape", shape).Build();
    refs.push_back(ref);
    builder.Op("Assign", name + "/init").Input(ref).Input(values[pick(3)]).Build();
    result.init.push_back(name + "/init");
    values.push_back(builder.Op("Identity", name + "/read").Input(ref).Build());
  }
  for (int i = 0; i < ops; ++i) {
    const std::string name = "op" + std::to_string(i);
    static const char* const kOps[] = {"AddV2", "Sub", "Mul", "Neg", "Identity", "Maximum"};
    const char* op = kOps[pick(6)];
    const size_t recent = std::min<size_t>(values.size(), 12);
    const auto input = [&] {
      return rng() % 3 == 0 ? values[pick(values.size())] : values[values.size() - 1 - pick(recent)];
    };
    auto node = builder.Op(op, name).Input(input());
    const std::string_view kind(op);
    if (kind != "Neg" && kind != "Identity") node.Input(input());
    if (rng() % 5 == 0) node.ControlInput(values[pick(values.size())]);
    const Endpoint value = node.Build();
    // Values stay bounded: each result is halved towards a constant.
    values.push_back(builder.Op("Minimum", name + "/low").Input(value).Input(values[pick(3)]).Build());
    if (variables > 0 && rng() % 6 == 0) {
      const Endpoint ref = refs[pick(refs.size())];
      const char* update = rng() % 2 == 0 ? "AssignAdd" : "AssignSub";
      const Endpoint updated = builder.Op(update, name + "/update").Input(ref).Input(values.back()).Build();
      result.targets.push_back(name + "/update");
      if (rng() % 3 == 0) values.push_back(builder.Op("Neg", name + "/after").Input(updated).Build());
    }
  }
  result.fetches.push_back(builder.graph().TensorName(values.back()));
  result.fetches.push_back(builder.graph().TensorName(values[values.size() / 2]));
  result.graph = builder.Take();
  return result;
}

// Nodes on random devices; a variable and what touches its reference share one.
inline Placement RandomPlacement(const Graph& graph, const Machine& machine, unsigned seed) {
  std::mt19937 rng(seed);
  Placement placement;
  placement.device.assign(graph.num_nodes(), DeviceId(0));
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const auto random = static_cast<int>(rng() % static_cast<unsigned>(machine.num_devices()));
    DeviceId device(random);
    if (!node.inputs.empty() && graph.node(node.inputs[0].node).op == "VariableV2") {
      device = placement.device[node.inputs[0].node];
    }
    placement.device[id] = device;
  }
  return placement;
}

inline CompileRequest RequestFor(const Graph& graph, const std::vector<std::string>& fetches,
                                 const std::vector<std::string>& targets) {
  CompileRequest request;
  for (const std::string& fetch : fetches) request.fetches.push_back(graph.FindEndpoint(fetch));
  for (const std::string& target : targets) request.fetches.push_back({graph.FindNode(target), -1});
  return request;
}

}  // namespace lanescope::test
