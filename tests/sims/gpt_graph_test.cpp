// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/gpt_graph.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/strategies/strategy.h"
#include "sims/engine/simulator.h"
#include "sims/megatron/layout_search.h"
#include "sims/predict/predict.h"
#include "tests/sims/effects_of.h"

namespace lanescope::sims::megatron {
namespace {

constexpr GptModel kSmall{.layers = 8, .hidden = 1024, .heads = 16, .sequence = 1024};

// The graph's step on GPUs whose links take no time.
double Simulated(const StepGraph& step, const GptLayout& layout) {
  Machine machine = VirtualMachine(static_cast<int>(layout.gpus()), 1);
  for (LinkSpec& link : machine.links) {
    link.bandwidth = 1e15;
    link.latency_ns = 0;
  }
  for (DeviceSpec& device : machine.devices) {
    device.kind = device.is_gpu() ? DeviceKind::kModelled : DeviceKind::kHost;
    device.memory_bytes = int64_t{80} << 30;
  }
  const CompileRequest request = StepRequestOf(step.graph, step.spec);
  const GraphInfo info = InferGraph(step.graph, request.feeds);
  const RooflineCost costs;
  const PlacerOptions placer;
  const Placement placement = PlaceAnnotated({step.graph, info, machine, costs, placer, &request});
  const Schedule schedule = Compile(step.graph, info, request, placement, machine);
  return static_cast<double>(Simulate(schedule, machine,
                                      EstimateCommands(step.graph, info, schedule, machine, costs, {}).costs,
                                      ModelOf())
                                 .step_ns) *
         1e-9;
}

// Law: the simulated graph takes what the closed form says, without the messages that cost nothing here.
TEST(GptGraphTest, TakesWhatTheRulesSay) {
  const GptLayout layouts[] = {
      {.batch = 8, .micro_batch = 2},
      {.batch = 8, .micro_batch = 2, .tensor = 2},
      {.batch = 16, .micro_batch = 2, .data = 2},
      {.batch = 16, .micro_batch = 2, .pipeline = 4},
      {.batch = 16, .micro_batch = 1, .tensor = 2, .data = 2, .pipeline = 2},
      {.batch = 16, .micro_batch = 1, .tensor = 2, .data = 2, .pipeline = 2, .recompute = true},
  };
  for (const GptLayout& layout : layouts) {
    const GptStep rules = EstimateGptStep(kSmall, layout);
    const double messages = rules.messages + 2 * (layout.pipeline - 1) * 52e-6 * 2;
    const double simulated = Simulated(WriteGptStep(kSmall, layout, PipelineSchedule::k1F1B), layout);
    EXPECT_NEAR(simulated / (rules.seconds - messages), 1, 0.03) << layout.gpus() << " " << layout.pipeline;
  }
}

// Both schedules have the same bubble; what differs is how many micro-batches a stage holds.
TEST(GptGraphTest, GPipeTakesAsLong) {
  const GptLayout layout{.batch = 16, .micro_batch = 2, .pipeline = 4};
  const double one = Simulated(WriteGptStep(kSmall, layout, PipelineSchedule::k1F1B), layout);
  const double all = Simulated(WriteGptStep(kSmall, layout, PipelineSchedule::kGPipe), layout);
  EXPECT_NEAR(all / one, 1, 0.05);
}

// Law: an all-reduce waits for its whole tensor group, and a layer has two each way.
TEST(GptGraphTest, AllReducesWaitForTheirGroup) {
  const GptLayout layout{.batch = 1, .micro_batch = 1, .tensor = 4};
  const Graph graph = WriteGptStep(kSmall, layout, PipelineSchedule::k1F1B).graph;
  const NodeId reduce = graph.FindNode("gpu_1/micro_0/layer_0/projection/all_reduce");
  ASSERT_TRUE(reduce.exists());
  EXPECT_EQ(graph.node(reduce).inputs.size(), 1u);
  EXPECT_EQ(graph.node(reduce).control_inputs.size(), 3u) << "the other ranks";
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op == "AllReduce";
  EXPECT_EQ(count, 4 * 8 * 4);
}

// The step on a cluster, with its messages and collectives by topology.
int64_t OnCluster(const StepGraph& step, const Machine& machine) {
  const CompileRequest request = StepRequestOf(step.graph, step.spec);
  const GraphInfo info = InferGraph(step.graph, request.feeds);
  const RooflineCost costs;
  const PlacerOptions placer;
  const Placement placement = PlaceAnnotated({step.graph, info, machine, costs, placer, &request});
  const Schedule schedule = Compile(step.graph, info, request, placement, machine);
  return Simulate(schedule, machine, EstimateCommands(step.graph, info, schedule, machine, costs, {}).costs,
                  ModelOf())
      .step_ns;
}

// Law: one GPU of a stage that stands for all that do the same takes what all of them take, to the last ns,
// where no two share a link. More than eight ends of a step are joined by a launch, which the folded step
// saves.
TEST(GptGraphTest, FoldedTakesAsLong) {
  const Machine machine = MakeCluster("dgx-a100:64,fat-tree,200Gb/s");
  for (const GptLayout& layout :
       {GptLayout{.batch = 32, .micro_batch = 1, .tensor = 8, .data = 4, .pipeline = 2},
        GptLayout{.batch = 16, .micro_batch = 2, .tensor = 2, .data = 2, .pipeline = 4},
        GptLayout{.batch = 16, .micro_batch = 1, .data = 4, .pipeline = 4, .recompute = true}}) {
    const StepGraph whole = WriteGptStep(kSmall, layout, PipelineSchedule::k1F1B);
    const StepGraph folded = WriteGptStep(kSmall, layout, PipelineSchedule::k1F1B, {}, true);
    EXPECT_EQ(OnCluster(folded, machine) + machine.device(machine.Gpus().front()).launch_ns,
              OnCluster(whole, machine))
        << layout.tensor << " " << layout.pipeline;
    EXPECT_LT(folded.graph.num_nodes() * 2, whole.graph.num_nodes());
    EXPECT_EQ(StandsFor(folded.graph), static_cast<int64_t>(layout.tensor * layout.data));
    EXPECT_EQ(StandsFor(whole.graph), 1);
  }
}

// A graph says how it was made.
TEST(GptGraphTest, KnowsItsOrigin) {
  const GptLayout layout{
      .batch = 16, .micro_batch = 2, .tensor = 2, .data = 2, .pipeline = 4, .recompute = true};
  Graph graph = WriteGptStep(kSmall, layout, PipelineSchedule::kGPipe).graph;
  const std::optional<GptOrigin> origin = OriginOf(graph);
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(origin->model.hidden, 1024);
  EXPECT_EQ(origin->layout.pipeline, 4);
  EXPECT_TRUE(origin->layout.recompute);
  EXPECT_EQ(origin->schedule, PipelineSchedule::kGPipe);
  EXPECT_EQ(OriginOf(Graph()), std::nullopt);
  graph.node(graph.FindNode("train")).attrs["_lanescope_gpt"] = std::string("{\"layers\": []}");
  EXPECT_THROW(OriginOf(graph), Error);
  // Numbers that nobody could lay out.
  const std::string good = GptOriginText(*origin);
  for (const char* pipeline : {"0", "-4", "1.5", "1e300", "1000000000"}) {
    std::string text = good;
    text.replace(text.find("\"pipeline\":4"), 12, std::string("\"pipeline\":") + pipeline);
    graph.node(graph.FindNode("train")).attrs["_lanescope_gpt"] = text;
    EXPECT_THROW(OriginOf(graph), Error) << pipeline;
  }
}

// Law: no layout of the list is faster than its first, all use all GPUs and fit, and the one that the rules
// were asked for is among them.
TEST(GptGraphTest, LayoutsAreRanked) {
  const std::vector<FoundLayout> found = SearchLayouts(kSmall, 64, 16);
  ASSERT_GT(found.size(), 10u);
  bool asked = false;
  for (const FoundLayout& layout : found) {
    EXPECT_GE(layout.step.seconds, found.front().step.seconds);
    EXPECT_EQ(layout.layout.gpus(), 16);
    EXPECT_LE(layout.memory_bytes, 80e9);
    asked |= layout.layout.tensor == 2 && layout.layout.pipeline == 2 && layout.layout.micro_batch == 4;
  }
  EXPECT_TRUE(asked);
  EXPECT_THROW(SearchLayouts({.layers = 96, .hidden = 12288, .heads = 96, .sequence = 2048}, 64, 2), Error);
}

TEST(GptGraphTest, RefusesWhatNobodyCouldRead) {
  const GptLayout layout{.batch = 8192, .micro_batch = 1, .tensor = 8, .data = 8, .pipeline = 8};
  EXPECT_THROW(WriteGptStep({.layers = 96, .hidden = 8192, .heads = 64, .sequence = 2048}, layout,
                            PipelineSchedule::k1F1B),
               Error);
}

}  // namespace
}  // namespace lanescope::sims::megatron
