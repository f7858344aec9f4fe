// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/graph/graph_builder.h"
#include "core/strategies/graph_strategy.h"
#include "study/predict/predictor.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"
#include "tests/support/paths.h"

namespace lanescope::study {
namespace {

using ::testing::HasSubstr;

// A batch of 12, or so many, through `layers` equal products, then loss = mean of the last, and its gradients
// by hand.
Workload ChainOfLayers(int layers, int rows = 12) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 64});
  std::vector<Endpoint> weights, values{x};
  for (int i = 0; i < layers; ++i) {
    weights.push_back(builder.Op("VariableV2", "w" + std::to_string(i))
                          .Attr("dtype", DataType::kFloat)
                          .Attr("shape", Shape{64, 64})
                          .Build());
    values.push_back(
        builder.Op("MatMul", "y" + std::to_string(i)).Input(values.back()).Input(weights.back()).Build());
  }
  const Endpoint axes = builder.Const("axes", Tensor::FromValues(Shape{2}, std::vector<int32_t>{0, 1}));
  builder.Op("Mean", "loss").Input(values.back()).Input(axes).Build();
  const Endpoint rate = builder.Scalar("rate", 0.5f);
  Endpoint gradient = values.back();
  for (int i = layers - 1; i >= 0; --i) {
    const auto number = static_cast<size_t>(i);
    const std::string name = std::to_string(i);
    const Endpoint of_weight = builder.Op("MatMul", "gradients/w" + name)
                                   .Input(values[number])
                                   .Input(gradient)
                                   .Attr("transpose_a", true)
                                   .Build();
    gradient = builder.Op("MatMul", "gradients/y" + name)
                   .Input(gradient)
                   .Input(weights[number])
                   .Attr("transpose_b", true)
                   .Build();
    builder.Op("ApplyGradientDescent", "train/w" + name)
        .Input(weights[number])
        .Input(rate)
        .Input(of_weight)
        .Build();
  }
  RunSpec spec;
  spec.feeds["x"].shape = Shape{rows, 64};
  spec.feeds["x"].generator = "uniform";
  spec.batch_axis["x"] = 0;
  spec.fetches = {"loss"};
  spec.loss = "loss";
  for (int i = 0; i < layers; ++i) spec.targets.push_back("train/w" + std::to_string(i));
  return Workload("chain", builder.Take(), spec);
}

Machine ModelledGpus(int gpus) {
  Machine machine = VirtualMachine(gpus, 1);
  for (DeviceSpec& device : machine.devices) {
    if (device.is_gpu()) device.kind = DeviceKind::kModelled;
  }
  return machine;
}

StepGraph Written(const Workload& workload, const Machine& machine, bool gpipe) {
  const RooflineCost costs;
  const RewriteInput input{workload.graph(), workload.spec(), workload.info(), machine, costs};
  return gpipe ? WritePipelineGPipe(input) : WritePipeline1F1B(input);
}

std::string DeviceOf(const Graph& graph, const std::string& node) {
  const NodeId id = graph.FindNode(node);
  EXPECT_TRUE(id.exists()) << node;
  return !id.exists() ? "" : graph.node(id).device;
}

// Law: the mean of the micro-batches' gradients is the gradient of the whole batch, so that training goes the
// same way, up to rounding.
TEST(PipelineTest, TrainsLikeOneModel) {
  const Machine machine = VirtualMachine(2, 1);
  for (const auto& [name, steps] : {std::pair<const char*, int>{"polynomial", 4}, {"deepconn_single", 2}}) {
    const Workload workload{test::SourceDir() + "/samples/graphs/" + name + ".pbtxt"};
    const float one = LossAfter(workload, "single", machine, steps);
    EXPECT_NEAR(LossAfter(workload, "pipeline", machine, steps) / one, 1, 1e-3) << name;
    for (const char* other : {"pipeline-gpipe", "pipeline-interleaved", "pipeline-zero-bubble"})
      EXPECT_NEAR(LossAfter(workload, other, machine, steps) / one, 1, 1e-3) << name << ' ' << other;
  }
}

// Eight equal layers over two GPUs: four each, gradients beside their layers, variables too.
TEST(PipelineTest, CutsIntoStagesOfEqualTime) {
  const Workload workload = ChainOfLayers(8);
  const StepGraph written = Written(workload, ModelledGpus(2), false);
  const auto of = [&](const std::string& name) { return DeviceOf(written.graph, name); };
  EXPECT_THAT(of("micro_0/y3"), HasSubstr("GPU:0"));
  EXPECT_THAT(of("micro_0/y4"), HasSubstr("GPU:1"));
  EXPECT_THAT(of("micro_2/gradients/w3"), HasSubstr("GPU:0"));
  EXPECT_THAT(of("micro_2/gradients/w4"), HasSubstr("GPU:1"));
  EXPECT_THAT(of("w3"), HasSubstr("GPU:0"));
  EXPECT_THAT(of("w4"), HasSubstr("GPU:1"));
  EXPECT_THAT(of("train/w4"), HasSubstr("GPU:1"));
}

// Law: of 6 micro-batches the first of two stages has at most two in flight by 1F1B, and all six by GPipe.
TEST(PipelineTest, OneForwardOneBackwardHoldsFewerMicroBatches) {
  const Workload workload = ChainOfLayers(8);
  const auto held = [&](bool gpipe) {
    const StepGraph written = Written(workload, ModelledGpus(2), gpipe);
    std::vector<std::string> passes;
    for (const Node& node : written.graph.nodes()) {
      if (node.name.starts_with("pipeline/stage_0/")) passes.push_back(node.name.substr(17));
    }
    int most = 0, now = 0;
    for (const std::string& pass : passes) most = std::max(most, now += pass.starts_with("forward") ? 1 : -1);
    return std::pair(passes.size(), most);
  };
  EXPECT_EQ(held(false), (std::pair<size_t, int>{12, 2}));
  EXPECT_EQ(held(true), (std::pair<size_t, int>{12, 6}));
}

// Law: with S equal stages and M micro-batches the passes take (M + S - 1) / (M S) of what they take on one
// GPU, here 7 / 12. What comes once a step (sums of gradients, updates of variables) each stage does by
// itself, when its passes are done: half of it.
TEST(PipelineTest, TakesAsLongAsTheBubbleSays) {
  const Workload workload = ChainOfLayers(8);
  Machine machine = ModelledGpus(2);
  for (LinkSpec& link : machine.links) {
    link.bandwidth = 1e15;
    link.latency_ns = 0;
  }
  const Predictor predictor(machine);
  const auto step = [&](const std::string& strategy) {
    const PlacedGraph placed = Place(workload, strategy, machine, predictor.costs());
    const Schedule schedule = CompileStep(placed, machine);
    VerifySchedule(placed.workload->graph(), schedule);
    return static_cast<double>(predictor.Predict(*placed.workload, schedule, {0}).step_ns);
  };
  StepGraph one_stage = Written(workload, machine, false);
  for (const NodeId id : one_stage.graph.node_ids()) one_stage.graph.node(id).device = "";
  const Workload alone("alone", one_stage.graph, one_stage.spec);
  const PlacedGraph placed = Place(alone, "single", machine, predictor.costs());
  const Schedule schedule = CompileStep(placed, machine);
  const sims::Prediction one = predictor.Predict(alone, schedule, {0});
  double passes = 0, once = 0;
  for (const CommandId c : schedule.commands.ids()) {
    if (schedule.commands[c].kind != CommandKind::kLaunch) continue;
    const bool pass = alone.graph().node(schedule.commands[c].node).name.starts_with("micro_");
    const sims::CommandTime& time = one.simulation.times[c];
    (pass ? passes : once) += static_cast<double>(time.end_ns - time.start_ns);
  }
  EXPECT_NEAR(passes + once, static_cast<double>(one.step_ns), 1);
  const double expected = passes * 7 / 12 + once / 2;
  EXPECT_NEAR(step("pipeline") / expected, 1, 0.02);
  EXPECT_NEAR(step("pipeline-gpipe") / expected, 1, 0.02);
}

Machine GpusWithoutLinkTimes(int gpus) {
  Machine machine = ModelledGpus(gpus);
  for (LinkSpec& link : machine.links) {
    link.bandwidth = 1e15;
    link.latency_ns = 0;
  }
  return machine;
}

// Law, whether queues are in order or not: V parts a stage make the wait of (S - 1) of the M micro-batches'
// work V times shorter (Narayanan et al., 2021, section 2.2). Where a forward pass, gradients of inputs and
// gradients of weights take a third each, ZB-H1 waits for (S - 1) (F + B - 2 W) in place of (S - 1) (F + B +
// W): for nothing of them (Qi et al., 2023, table 2).
TEST(PipelineTest, InterleavedAndZeroBubbleWaitLess) {
  const Workload workload = ChainOfLayers(16, 12 * 1024);
  for (const bool in_order : {false, true}) {
    Machine machine = GpusWithoutLinkTimes(4);
    for (DeviceSpec& device : machine.devices) device.in_order = in_order && device.is_gpu();
    const Predictor predictor(machine);
    const auto step = [&](const std::string& strategy) {
      const PlacedGraph placed = Place(workload, strategy, machine, predictor.costs());
      const Schedule schedule = CompileStep(placed, machine);
      VerifySchedule(placed.workload->graph(), schedule);
      return static_cast<double>(predictor.Predict(*placed.workload, schedule, {0}).step_ns);
    };
    const double plain = step("pipeline"), two = step("pipeline-interleaved"),
                 split = step("pipeline-zero-bubble");
    EXPECT_LT(two, 0.95 * plain) << in_order;
    EXPECT_LT(split, 0.95 * plain) << in_order;
  }
}

// Layer by layer over two GPUs and back: parts 0 and 2 are on the first one.
TEST(PipelineTest, InterleavedStagesHaveSeveralParts) {
  const Workload workload = ChainOfLayers(8);
  const RooflineCost costs;
  const Machine machine = ModelledGpus(2);
  const auto written = [&](const std::string& strategy) {
    return RewriteByStrategy(strategy, {workload.graph(), workload.spec(), workload.info(), machine, costs});
  };
  const StepGraph step = written("pipeline-interleaved");
  const auto of = [&](const std::string& name) { return DeviceOf(step.graph, name); };
  for (const auto& [layer, gpu] : {std::pair{"1", "GPU:0"}, {"2", "GPU:1"}, {"5", "GPU:0"}, {"6", "GPU:1"}}) {
    EXPECT_THAT(of(std::string("micro_0/y") + layer), HasSubstr(gpu));
    EXPECT_THAT(of(std::string("micro_1/gradients/w") + layer), HasSubstr(gpu));
    EXPECT_THAT(of(std::string("train/w") + layer), HasSubstr(gpu));
  }
  EXPECT_THAT(of("pipeline/stage_1/part_1/backward_0"), HasSubstr("GPU:1"));
  EXPECT_THAT(RefusalOf([&] { written("pipeline-interleaved-1"); }), HasSubstr("two parts or more"));
  EXPECT_THAT(RefusalOf([&] { written("pipeline-interleaved-x"); }), HasSubstr("two parts or more"));
}

// Law: gradients of weights are passes of their own, which no other stage waits for.
TEST(PipelineTest, ZeroBubbleSplitsGradients) {
  const Workload workload = ChainOfLayers(8);
  const RooflineCost costs;
  const Machine machine = ModelledGpus(2);
  const StepGraph step = RewriteByStrategy(
      "pipeline-zero-bubble", {workload.graph(), workload.spec(), workload.info(), machine, costs});
  const auto waits = [&](const std::string& name) {
    std::set<std::string> names;
    for (const NodeId control : step.graph.node(step.graph.FindNode(name)).control_inputs)
      names.insert(step.graph.node(control).name);
    return names;
  };
  const std::set<std::string> weights = waits("pipeline/stage_1/weights_2");
  for (const char* layer : {"4", "5", "6", "7"})
    EXPECT_TRUE(weights.contains(std::string("micro_2/gradients/w") + layer)) << layer;
  EXPECT_EQ(waits("pipeline/stage_1/inputs_2"), (std::set<std::string>{"micro_2/gradients/y4"}));
}

TEST(PipelineTest, RefusesWhatItCannotCut) {
  const Workload chain = ChainOfLayers(4);
  EXPECT_THAT(RefusalOf([&] { Written(chain, ModelledGpus(1), false); }), HasSubstr("fewer than two GPUs"));
  Machine small = ModelledGpus(2);
  for (DeviceSpec& device : small.devices) device.memory_bytes = 20'000;
  EXPECT_THAT(RefusalOf([&] { Written(chain, small, false); }), HasSubstr("fits the GPUs' memory"));
  EXPECT_THAT(
      RefusalOf([&] { Written(ChainOfLayers(2, 11), ModelledGpus(2), false); }),
      HasSubstr("a batch of 11 cannot be cut into up to 8 micro-batches; the nearest that can is 12"));
  const Workload towers{test::SourceDir() + "/samples/graphs/two_towers_matmul.pbtxt"};
  EXPECT_THAT(RefusalOf([&] { Written(towers, ModelledGpus(2), false); }), HasSubstr("no batch_axis"));
}

}  // namespace
}  // namespace lanescope::study
