// SPDX-License-Identifier: Apache-2.0
// Graphs with ops that have no definition here compile; what is not known of them is said once, by its cause.
#include "core/schedule/unknown_work.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/graph/graph_builder.h"
#include "core/graph/validate.h"
#include "core/place/placer.h"
#include "core/schedule/cost.h"

namespace lanescope {
namespace {

struct Compiled {
  Graph graph;
  GraphInfo info;
  Schedule schedule;
};

Compiled CompileOnTwoGpus(Graph graph, const std::vector<std::string>& targets) {
  Compiled compiled{std::move(graph), {}, {}};
  NoteProblems(&compiled.graph);
  CompileRequest request;
  for (const std::string& target : targets)
    request.fetches.push_back({compiled.graph.FindEndpoint(target).node, -1});
  compiled.info = InferGraph(compiled.graph, {});
  const Machine machine = VirtualMachine(2, 1);
  compiled.schedule =
      Compile(compiled.graph, compiled.info, request, PlaceGraph(compiled.graph, machine, {}), machine);
  VerifySchedule(compiled.graph, compiled.schedule);
  return compiled;
}

void AppendNode(Graph* graph, const std::string& name, const std::string& op, std::vector<Endpoint> inputs,
                AttrMap attrs = {}, const std::string& device = "") {
  Node node;
  node.name = name;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  node.device = device;
  graph->AddNode(std::move(node));
}

// c -> Strange -> Relu on the other GPU -> Tanh: the last two follow from the first, across a copy.
TEST(UnknownWork, IsSaidOnceByItsCause) {
  GraphBuilder builder;
  const Endpoint c = builder.Const("c", Tensor::FromValues<float>({2}, {1, 2}));
  Graph graph = builder.Take();
  AppendNode(&graph, "strange", "Strange", {c});
  AppendNode(&graph, "again", "Strange", {{NodeId(1), 1}});
  AppendNode(&graph, "relu", "Relu", {{NodeId(2), 3}}, {{"T", DataType::kFloat}}, "/device:GPU:1");
  AppendNode(&graph, "tanh", "Tanh", {{NodeId(3), 0}}, {{"T", DataType::kFloat}}, "/device:GPU:1");
  AppendNode(&graph, "known", "Relu", {c}, {{"T", DataType::kFloat}});
  const Compiled compiled = CompileOnTwoGpus(std::move(graph), {"tanh", "known"});
  const auto unknown = FindUnknownWork(compiled.graph, compiled.info, compiled.schedule);
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].op, "Strange");
  EXPECT_FALSE(unknown[0].defined);
  EXPECT_EQ(unknown[0].launches, 2);
  EXPECT_EQ(unknown[0].followers, 2);
}

// A queue is a handle without memory; what works on it is a launch that is not free.
TEST(UnknownWork, OfAGraphOfQueuesIsNotFree) {
  Graph graph;
  const AttrMap types = {{"component_types", std::vector<DataType>{DataType::kFloat}}};
  AppendNode(&graph, "queue", "FIFOQueueV2", {}, types, "/device:CPU:0");
  AppendNode(&graph, "dequeue", "QueueDequeueV2", {{NodeId(0), 0}}, types);
  AppendNode(&graph, "relu", "Relu", {{NodeId(1), 0}}, {{"T", DataType::kFloat}});
  const Compiled compiled = CompileOnTwoGpus(std::move(graph), {"relu"});
  const auto launches = std::count_if(compiled.schedule.commands.begin(), compiled.schedule.commands.end(),
                                      [](const Command& c) { return c.kind == CommandKind::kLaunch; });
  EXPECT_EQ(launches, 2);
  const Machine machine = VirtualMachine(2, 1);
  for (const NodeId node : {NodeId(1), NodeId(2)}) {
    const auto estimate = RooflineCost().Launch(machine, DeviceId(0), compiled.graph.node(node), {},
                                                compiled.info.outputs(node));
    EXPECT_GE(estimate.ns, kUnknownNs);
    EXPECT_EQ(estimate.basis, CostBasis::kNothing);
  }
}

// Lower-casing strings has a kernel for CPUs alone, and what works on a queue stays with it.
TEST(UnknownWork, IsPlacedByTensorFlowsTable) {
  Graph graph;
  AppendNode(&graph, "text", "Placeholder", {}, {{"dtype", DataType::kString}});
  AppendNode(&graph, "lower", "StringLower", {{NodeId(0), 0}});
  const AttrMap types = {{"component_types", std::vector<DataType>{DataType::kFloat}}};
  AppendNode(&graph, "queue", "FIFOQueueV2", {}, types, "/device:CPU:0");
  AppendNode(&graph, "dequeue", "QueueDequeueV2", {{NodeId(2), 0}}, types);
  const Machine machine = VirtualMachine(2, 1);
  const Placement placement = PlaceGraph(graph, machine, {});
  EXPECT_EQ(machine.device(placement.device[NodeId(1)]).local_name(), "CPU:0");
  EXPECT_EQ(machine.device(placement.device[NodeId(3)]).local_name(), "CPU:0");
  const auto groups = ColocationGroups(graph);
  EXPECT_EQ(groups[NodeId(2)], groups[NodeId(3)]);
  EXPECT_NE(groups[NodeId(0)], groups[NodeId(1)]);
}

// With both attributes nothing is unknown.
TEST(UnknownWork, AttributesTell) {
  Graph graph;
  AppendNode(&graph, "strange", "Strange", {},
             {{"_lanescope_cost", std::string(R"({"flops": 1000, "bytes": 8})")},
              {"_output_shapes", std::vector<ShapeAttr>{{Shape{2}, ""}}}});
  AppendNode(&graph, "relu", "Relu", {{NodeId(0), 0}}, {{"T", DataType::kFloat}});
  const Compiled compiled = CompileOnTwoGpus(std::move(graph), {"relu"});
  EXPECT_TRUE(FindUnknownWork(compiled.graph, compiled.info, compiled.schedule).empty());
}

// Rates that a machine file lacks are assumed, and the estimate says so.
TEST(RooflineCost, SaysWhatItGoesBy) {
  Machine machine = VirtualMachine(2, 1);
  const DeviceId gpu = machine.Gpus()[0];
  Node relu;
  relu.op = "Relu";
  TensorInfo tensor;
  tensor.dtype = DataType::kFloat;
  tensor.shape = Shape{1000};
  const auto basis = [&] {
    return RooflineCost().Launch(machine, gpu, relu, {&tensor, 1}, {&tensor, 1}).basis;
  };
  EXPECT_EQ(basis(), CostBasis::kAssumed);
  machine.devices[gpu].memory_bandwidth = 1e9;
  machine.devices[gpu].peak_flops[DataType::kFloat] = 1e12;
  EXPECT_EQ(basis(), CostBasis::kRates);
}

}  // namespace
}  // namespace lanescope
