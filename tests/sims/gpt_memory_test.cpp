// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/gpt_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/schedule/cost.h"
#include "core/strategies/strategy.h"
#include "sims/megatron/gpt_graph.h"
#include "sims/megatron/layout_search.h"

namespace lanescope::sims::megatron {
namespace {

constexpr GptModel kTied{.layers = 8, .hidden = 1024, .heads = 16, .sequence = 1024, .vocabulary = 51200};

Schedule Compiled(const StepGraph& step, const Machine& machine) {
  const CompileRequest request = StepRequestOf(step.graph, step.spec);
  const GraphInfo info = InferGraph(step.graph, request.feeds);
  const RooflineCost costs;
  const PlacerOptions placer;
  return Compile(step.graph, info, request,
                 PlaceAnnotated({step.graph, info, machine, costs, placer, &request}), machine);
}

// Law: a layer keeps s b h (10 + 24 / t + 5 a s / (h t)) bytes, 34 + 5 a s / h of them on one GPU.
TEST(GptMemoryTest, ALayerKeepsWhatKorthikantiSays) {
  for (const double t : {1.0, 2.0, 8.0}) {
    const double s = 1024, b = 4, h = 1024, a = 16;
    const SavedActivations saved = SavedOf(kTied, {.batch = 32, .micro_batch = b, .tensor = t});
    EXPECT_NEAR(saved.layer() / (s * b * h * (10 + 24 / t + 5 * a * s / (h * t))), 1, 1e-12) << t;
    EXPECT_EQ(saved.input, 2 * s * b * h);
  }
}

// Law: 18 bytes a parameter, of which the layers' are in one stage and the tied embedding's in the first and
// the last.
TEST(GptMemoryTest, StagesShareTheParameters) {
  const GptLayout layout{.batch = 16, .micro_batch = 1, .tensor = 2, .pipeline = 4};
  double all = 0;
  for (const GptMemory& stage : GptMemoryByStage(kTied, layout)) {
    EXPECT_EQ(stage.weights + stage.gradients + stage.optimizer, 18 * stage.parameters);
    all += 2 * stage.parameters;
  }
  EXPECT_EQ(all, 8.0 * 12 * 1024 * 1024 + 2 * 51200.0 * 1024);
}

// Law: one forward, one backward has one micro-batch less under way in every further stage; GPipe all.
TEST(GptMemoryTest, MicroBatchesUnderWay) {
  const GptLayout layout{.batch = 16, .micro_batch = 2, .pipeline = 4};
  const auto in_flight = [&](const GptLayout& of, PipelineSchedule schedule) {
    std::vector<double> counts;
    for (const GptMemory& stage : GptMemoryByStage(kTied, of, schedule)) counts.push_back(stage.in_flight);
    return counts;
  };
  EXPECT_EQ(in_flight(layout, PipelineSchedule::k1F1B), (std::vector<double>{4, 3, 2, 1}));
  EXPECT_EQ(in_flight(layout, PipelineSchedule::kGPipe), (std::vector<double>{8, 8, 8, 8}));
  EXPECT_EQ(in_flight({.batch = 4, .micro_batch = 2, .pipeline = 4}, PipelineSchedule::k1F1B),
            (std::vector<double>{2, 2, 2, 1}));
}

// A layout of the largest numbers still has a memory that can be printed.
TEST(GptMemoryTest, MoreThanAnythingHasIsANumber) {
  const GptModel huge{.layers = 1e9, .hidden = 1e9, .heads = 1, .sequence = 1e9, .vocabulary = 1e9};
  EXPECT_EQ(WholeBytes(FullestStageOf(huge, {.batch = 1e9, .micro_batch = 1e9}).bytes), int64_t{1} << 62);
  EXPECT_EQ(WholeBytes(1.5), 1);
}

TEST(GptMemoryTest, TheFullestStageIsTheFullestOfAll) {
  for (const double pipeline : {1.0, 2.0, 4.0, 8.0}) {
    for (const bool recompute : {false, true}) {
      const GptLayout layout{
          .batch = 16, .micro_batch = 1, .tensor = 2, .pipeline = pipeline, .recompute = recompute};
      double most = 0;
      for (const GptMemory& stage : GptMemoryByStage(kTied, layout)) most = std::max(most, stage.bytes());
      const FullestStage fullest = FullestStageOf(kTied, layout);
      EXPECT_EQ(fullest.bytes, most) << pipeline;
      EXPECT_EQ(GptMemoryByStage(kTied, layout)[static_cast<size_t>(fullest.stage)].bytes(), most);
    }
  }
}

// Law: the plan of the graph's tensors holds on every GPU what the rules say of its stage, and beside it no
// more than tensors on their way from node to node: a few of [tokens, hidden], or a layer's widest.
TEST(GptMemoryTest, ThePlanOfTheTensorsHoldsAsMuch) {
  struct Case {
    GptLayout layout;
    PipelineSchedule schedule = PipelineSchedule::k1F1B;
  };
  const Case cases[] = {
      {{.batch = 8, .micro_batch = 4}},
      {{.batch = 16, .micro_batch = 2, .tensor = 2, .data = 2, .pipeline = 2}},
      {{.batch = 16, .micro_batch = 1, .tensor = 4, .pipeline = 4}},
      {{.batch = 16, .micro_batch = 1, .tensor = 2, .pipeline = 4, .recompute = true}},
      {{.batch = 8, .micro_batch = 1, .tensor = 2, .pipeline = 2}, PipelineSchedule::kGPipe},
  };
  for (const Case& c : cases) {
    Machine machine = VirtualMachine(static_cast<int>(c.layout.gpus()), 1);
    for (DeviceSpec& device : machine.devices) device.memory_bytes = int64_t{80} << 30;
    const Schedule schedule = Compiled(WriteGptStep(kTied, c.layout, c.schedule), machine);
    const std::vector<GptMemory> stages = GptMemoryByStage(kTied, c.layout, c.schedule);
    const double passing = 2 * c.layout.micro_batch * kTied.sequence * kTied.hidden * 12;
    const std::vector<DeviceId> gpus = machine.Gpus();
    for (size_t g = 0; g < gpus.size(); ++g) {
      const size_t stage = g / static_cast<size_t>(c.layout.tensor * c.layout.data);
      const auto planned = static_cast<double>(schedule.peak_bytes[gpus[g]]);
      // The logits come when the last layer of the micro-batch is there, and all others under way.
      EXPECT_GE(planned, stages[stage].bytes() * 0.999) << stage;
      EXPECT_LE(planned, stages[stage].bytes() + passing + stages[stage].logits) << stage;
    }
  }
}

// Law: what is no whole layout of a machine's memory is refused, by the plan and by the search.
TEST(GptMemoryTest, WhatDoesNotFitIsRefused) {
  const GptLayout layout{.batch = 8, .micro_batch = 2, .tensor = 2, .pipeline = 2};
  const double most = FullestStageOf(kTied, layout).bytes;
  Machine machine = VirtualMachine(4, 1);
  const StepGraph step = WriteGptStep(kTied, layout, PipelineSchedule::k1F1B);
  for (DeviceSpec& device : machine.devices) device.memory_bytes = static_cast<int64_t>(0.95 * most);
  try {
    Compiled(step, machine);
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    EXPECT_NE(error.message().find("variable gpu_"), std::string::npos) << error.message();
  }
  MegatronRules rules;
  rules.gpu.memory_bytes = most;
  const size_t all = SearchLayouts(kTied, 8, 4).size();
  const std::vector<FoundLayout> found = SearchLayouts(kTied, 8, 4, rules);
  EXPECT_LT(found.size(), all);
  for (const FoundLayout& one : found) EXPECT_LE(one.memory_bytes, most);
  rules.gpu.memory_bytes = 1e8;
  try {
    SearchLayouts(kTied, 8, 4, rules);
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    EXPECT_NE(error.message().find("takes the least"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace lanescope::sims::megatron
