#include "sims/megatron/gpt_graph.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/strategies/strategy.h"
#include "sims/predict.h"
#include "sims/simulator.h"

namespace lanescope::sims::megatron {
namespace {

constexpr GptModel kModel{.layers = 8, .hidden = 1024, .heads = 16, .sequence = 1024};

// The graph's step on GPUs whose links take no time.
double Simulated(const StepGraph& step, const GptLayout& layout) {
  Machine machine = VirtualMachine(static_cast<int>(layout.gpus()), 1);
  for (LinkSpec& link : machine.links) {
    link.bandwidth = 1e15;
    link.latency_ns = 0;
  }
  for (DeviceSpec& device : machine.devices)
    device.kind = device.is_gpu() ? DeviceKind::kModelled : DeviceKind::kHost;
  const CompileRequest request = StepRequestOf(step.graph, step.spec);
  const GraphInfo info = InferGraph(step.graph, request.feeds);
  const RooflineCost costs;
  const PlacerOptions placer;
  const Placement placement = PlaceAnnotated({step.graph, info, machine, costs, placer, &request});
  const Schedule schedule = Compile(step.graph, info, request, placement, machine);
  return static_cast<double>(Simulate(schedule, machine,
                                      EstimateCommands(step.graph, info, schedule, machine, costs, {}).costs)
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
    const GptStep rules = EstimateGptStep(kModel, layout);
    const double messages = rules.messages + 2 * (layout.pipeline - 1) * 52e-6 * 2;
    const double simulated = Simulated(WriteGptStep(kModel, layout, PipelineSchedule::k1F1B), layout);
    EXPECT_NEAR(simulated / (rules.seconds - messages), 1, 0.03) << layout.gpus() << " " << layout.pipeline;
  }
}

// Both schedules have the same bubble; what differs is how many micro-batches a stage holds.
TEST(GptGraphTest, GPipeTakesAsLong) {
  const GptLayout layout{.batch = 16, .micro_batch = 2, .pipeline = 4};
  const double one = Simulated(WriteGptStep(kModel, layout, PipelineSchedule::k1F1B), layout);
  const double all = Simulated(WriteGptStep(kModel, layout, PipelineSchedule::kGPipe), layout);
  EXPECT_NEAR(all / one, 1, 0.05);
}

// Law: an all-reduce waits for its whole tensor group, and a layer has two each way.
TEST(GptGraphTest, AllReducesWaitForTheirGroup) {
  const GptLayout layout{.batch = 1, .micro_batch = 1, .tensor = 4};
  const Graph graph = WriteGptStep(kModel, layout, PipelineSchedule::k1F1B).graph;
  const int reduce = graph.FindNode("gpu_1/micro_0/layer_0/projection/all_reduce");
  ASSERT_GE(reduce, 0);
  EXPECT_EQ(graph.node(reduce).inputs.size(), 1u);
  EXPECT_EQ(graph.node(reduce).control_inputs.size(), 3u) << "the other ranks";
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op == "AllReduce";
  EXPECT_EQ(count, 4 * 8 * 4);
}

TEST(GptGraphTest, RefusesWhatNobodyCouldRead) {
  const GptLayout layout{.batch = 8192, .micro_batch = 1, .tensor = 8, .data = 8, .pipeline = 8};
  EXPECT_THROW(WriteGptStep({.layers = 96, .hidden = 8192, .heads = 64, .sequence = 2048}, layout,
                            PipelineSchedule::k1F1B),
               Error);
}

}  // namespace
}  // namespace lanescope::sims::megatron
