// SPDX-License-Identifier: Apache-2.0
// Laws of every compiled schedule, over many random graphs, requests, machines and placements.
#include <gtest/gtest.h>

#include <random>

#include "core/graph/graph_builder.h"
#include "core/schedule/schedule.h"
#include "tests/support/random_graph.h"

namespace lanescope {
namespace {

using test::MakeRandomGraph;
using test::RandomGraph;
using test::RandomPlacement;
using test::RequestFor;

// Operators over resource variables that are read, assigned and updated at any place of the graph.
RandomGraph MakeResourceGraph(unsigned seed, int ops) {
  std::mt19937 rng(seed);
  const auto pick = [&](const std::vector<Endpoint>& from) { return from[rng() % from.size()]; };
  RandomGraph result;
  GraphBuilder builder;
  std::vector<Endpoint> values, handles;
  values.push_back(builder.Const("one", Tensor::FromValues<float>(Shape{4}, {1, 1, 1, 1})));
  for (int v = 0; v < 3; ++v) {
    handles.push_back(builder.Op("VarHandleOp", "var" + std::to_string(v))
                          .Attr("dtype", DataType::kFloat)
                          .Attr("shape", Shape{4})
                          .Build());
  }
  for (int i = 0; i < ops; ++i) {
    static const char* const kOps[] = {
        "AddV2", "Neg", "Identity",           "ReadVariableOp", "AssignVariableOp",
        "NoOp",  "Sub", "AssignAddVariableOp"};
    const std::string op = kOps[rng() % 8], name = "op" + std::to_string(i);
    auto node = builder.Op(op, name);
    const bool state = op.find("Variable") != std::string::npos;
    if (state) node.Input(pick(handles)).Attr("dtype", DataType::kFloat);
    if (op != "NoOp" && op != "ReadVariableOp") node.Input(pick(values));
    if (op == "AddV2" || op == "Sub") node.Input(pick(values));
    for (unsigned k = op == "NoOp" ? 11 : rng() % 2; k > 0; --k) node.ControlInput(pick(values));
    const Endpoint made = node.Build();
    if (op.starts_with("Assign")) result.targets.push_back(name);
    if (!op.starts_with("Assign") && op != "NoOp") {
      values.push_back(made);
    } else {
      values.push_back(
          builder.Op("Neg", name + "/after").Input(pick(values)).ControlInput(made.node).Build());
    }
  }
  result.fetches = {builder.graph().TensorName(values.back())};
  result.graph = builder.Take();
  return result;
}

struct Case {
  RandomGraph random;
  Machine machine;
  Placement placement;
  CompileRequest request;
};

// Kinds of machines, of state and of requests in turn.
Case MakeCase(unsigned seed) {
  Case made;
  std::mt19937 rng(seed);
  const bool resources = seed % 2 == 1;
  made.random = resources ? MakeResourceGraph(seed, 30 + static_cast<int>(seed))
                          : MakeRandomGraph(seed, 30 + static_cast<int>(seed), seed % 8 == 0 ? 0 : 3);
  const Graph& graph = made.random.graph;
  made.machine = VirtualMachine(1 + static_cast<int>(seed % 4), 1);
  for (DeviceSpec& device : made.machine.devices) {
    if (seed % 3 == 1) device.in_order = device.is_gpu();
    if (seed % 5 == 2) device.copy_engines = 1;
  }
  made.placement = RandomPlacement(graph, made.machine, seed);
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (!node.inputs.empty() && graph.node(node.inputs[0].node).op == "VarHandleOp")
      made.placement.device[id] = made.placement.device[node.inputs[0].node];
    if (seed % 7 == 3) made.placement.priority.Add(static_cast<int>(rng() % 5) - 2);
  }
  made.request = RequestFor(graph, made.random.fetches, made.random.targets);
  for (int i = 3; !resources && seed % 6 == 4 && i < 30; i += 8) {
    TensorInfo info;
    info.dtype = DataType::kFloat;
    info.shape = Shape{16};
    made.request.feeds.emplace_back(graph.FindEndpoint("op" + std::to_string(i)), info);
  }
  return made;
}

Schedule CompileCase(const Case& made) {
  const GraphInfo info = InferGraph(made.random.graph, made.request.feeds);
  return Compile(made.random.graph, info, made.request, made.placement, made.machine);
}

TEST(CompileLaws, TheVerifierAcceptsEverySchedule) {
  for (unsigned seed = 0; seed < 168; ++seed) {
    SCOPED_TRACE(seed);
    const Case made = MakeCase(seed);
    const Schedule schedule = CompileCase(made);
    EXPECT_NO_THROW(VerifySchedule(made.random.graph, schedule));
    EXPECT_FALSE(schedule.commands.empty());
  }
}

// Law: a schedule depends on what it is compiled from and on nothing else.
TEST(CompileLaws, CompilingAgainGivesTheSameSchedule) {
  for (unsigned seed = 0; seed < 42; ++seed) {
    SCOPED_TRACE(seed);
    const Case made = MakeCase(seed);
    const Schedule first = CompileCase(made), second = CompileCase(MakeCase(seed));
    EXPECT_EQ(DumpSchedule(made.random.graph, made.machine, first),
              DumpSchedule(made.random.graph, made.machine, second));
    EXPECT_EQ(first.operands, second.operands);
    EXPECT_EQ(first.successors, second.successors);
    EXPECT_EQ(first.fetches, second.fetches);
    EXPECT_EQ(first.peak_bytes, second.peak_bytes);
  }
}

// Law: ranks count the commands up, and a command that waits comes after what it waits for.
TEST(CompileLaws, CommandsAreInAnOrderThatRespectsDependencies) {
  for (unsigned seed = 0; seed < 84; ++seed) {
    SCOPED_TRACE(seed);
    const Schedule schedule = CompileCase(MakeCase(seed));
    for (const CommandId c : schedule.commands.ids()) {
      ASSERT_EQ(schedule.commands[c].rank, c.number());
      for (const CommandId next : schedule.Successors(c)) ASSERT_GT(next, c);
    }
  }
}

}  // namespace
}  // namespace lanescope
