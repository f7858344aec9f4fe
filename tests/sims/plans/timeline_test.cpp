// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/base/error.h"
#include "sims/plans/step.h"

namespace lanescope::sims::plans {
namespace {

struct Case {
  const char* plan;
  const char* model = "llama-3-8b";
  double batch = 16;
};
// Every sharding, a pipeline of either order, recomputation, and all kinds of collectives.
const Case kCases[] = {
    {"dp=8"},
    {"dp=8,shard=fsdp2,recompute=full"},
    {"dp=8,shard=hsdp,shard-size=4"},
    {"pp=8"},
    {"dp=2,tp=2,pp=2,cp=2,vpp=4,shard=zero1,sp"},
    {"dp=2,pp=4,vpp=2,shard=zero1,recompute=selective"},
    {"dp=4,tp=2,pp=2,ep=4,shard=zero1,sp", "qwen3-30b-a3b"},
    {"dp=1,kernels=eager", "gpt2"},
};

struct Predicted {
  PlanTimeline timeline;
  PlanStep step;
};
Predicted PredictedBy(const Case& one) {
  const Plan plan = ParsePlan(one.plan);
  const ModelShape model = NamedModel(one.model);
  const PlanMachine machine = NamedMachine("dgx-h100:" + std::to_string(plan.gpus()));
  CheckPlan(plan, model, one.batch, 4096, machine.gpus());
  return {TimelineOf(model, plan, machine, one.batch, 4096),
          EstimateStep(model, plan, machine, one.batch, 4096)};
}

// Law: a stage works or waits at every moment from 0 to the predicted step, which is that of EstimateStep.
TEST(PlanTimelineTest, EveryStageIsTakenUpToTheEndOfTheStep) {
  for (const Case& one : kCases) {
    const auto [timeline, step] = PredictedBy(one);
    EXPECT_NEAR(static_cast<double>(timeline.step_ns), step.seconds() * 1e9, 1) << one.plan;
    for (const StageSlices& stage : timeline.stages) {
      int64_t now = 0;
      for (const PlanSlice& slice : stage.slices) {
        EXPECT_LT(slice.start_ns, slice.end_ns);
        if (LaneOf(slice.kind) == SliceLane::kBeside) continue;
        EXPECT_EQ(slice.start_ns, now) << one.plan << " " << SliceName(timeline, slice);
        now = slice.end_ns;
      }
      EXPECT_EQ(now, timeline.step_ns) << one.plan;
    }
  }
}

// Law: the parts of the step are the sums of the slices of its slowest stage.
TEST(PlanTimelineTest, SlicesOfTheSlowestStageAddUpToTheParts) {
  for (const Case& one : kCases) {
    const auto [timeline, step] = PredictedBy(one);
    const auto& slices = timeline.stages[static_cast<size_t>(timeline.slowest)].slices;
    std::map<SliceKind, double> sums;
    double shards = 0;  // of passes; else of all gradients
    for (const PlanSlice& slice : slices) {
      const auto ns = static_cast<double>(slice.end_ns - slice.start_ns);
      sums[slice.kind] += ns;
      if (slice.micro_batch >= 0 && (slice.kind == SliceKind::kGather || slice.kind == SliceKind::kReduce))
        shards += ns;
    }
    const auto sum = [&](auto... kinds) { return (sums[kinds] + ...); };
    // Each end is rounded to a nanosecond.
    const auto expect = [&, rounding = static_cast<double>(slices.size())](double ns, double seconds,
                                                                           const char* part) {
      EXPECT_NEAR(ns, seconds * 1e9, rounding) << one.plan << " " << part;
    };
    using enum SliceKind;
    expect(sum(kForward, kBackward, kRecompute), step.products + step.attention + step.passes + step.launches,
           "work");
    expect(sum(kTensor, kContext, kExperts), step.exchanges, "exchanges");
    expect(shards, step.shards, "shards");
    expect(sum(kGather, kReduce) - shards, step.gradients, "gradients");
    expect(sum(kMessage), step.messages, "messages");
    expect(sum(kOptimizer), step.update, "update");
    expect(sum(kFill, kDrain, kWait), step.bubble, "bubble");
    expect(sum(kLast), step.stragglers, "stragglers");
  }
}

// Law: what waits for another stage begins once that is done, and every pass but the first waits so.
TEST(PlanTimelineTest, PassesFollowThoseOfTheirNeighbours) {
  for (const Case& one : kCases) {
    const auto [timeline, step] = PredictedBy(one);
    const auto at = [&](const SlicePlace& place) {
      return timeline.stages[static_cast<size_t>(place.stage)].slices[place.slice];
    };
    for (const auto& [waiting, ended] : timeline.waits) EXPECT_LE(at(ended).end_ns, at(waiting).start_ns);
    const size_t stages = timeline.stages.size();
    const Plan plan = ParsePlan(one.plan);
    const size_t passes =
        stages == 1 ? 0 : static_cast<size_t>(one.batch) / plan.dp * (stages * plan.vpp - 1);
    EXPECT_EQ(timeline.waits.size(), 2 * passes + stages - 1) << one.plan;
  }
}

// Input: four stages and 8 micro-batches of equal work. Stage s fills while s passes go forward before it.
TEST(PlanTimelineTest, IdleTimeIsNamed) {
  const auto [timeline, step] = PredictedBy({"pp=4", "llama-3-8b", 8});
  EXPECT_EQ(timeline.stages[1].slices.front().kind, SliceKind::kFill);
  EXPECT_EQ(timeline.stages[0].slices.front().kind, SliceKind::kForward);
  const auto kind_of_last_wait = [&](int stage) {
    SliceKind kind = SliceKind::kForward;
    for (const PlanSlice& slice : timeline.stages[static_cast<size_t>(stage)].slices)
      if (LaneOf(slice.kind) == SliceLane::kIdle && slice.kind != SliceKind::kLast) kind = slice.kind;
    return kind;
  };
  EXPECT_EQ(kind_of_last_wait(3), SliceKind::kDrain);
  EXPECT_EQ(timeline.stages[3].rank, 3);
}

TEST(PlanTimelineTest, NamesSayMicroBatchAndPart) {
  PlanTimeline timeline;
  EXPECT_EQ(SliceName(timeline, {.kind = SliceKind::kForward, .micro_batch = 2, .part = 0}), "forward 3");
  timeline.parts = 2;
  EXPECT_EQ(SliceName(timeline, {.kind = SliceKind::kBackward, .micro_batch = 0, .part = 1}), "backward 1.2");
  EXPECT_EQ(SliceOp(timeline, {.kind = SliceKind::kReduce}), "NCCL all-reduce, exposed");
  timeline.reduction = "reduce-scatter";
  EXPECT_EQ(SliceOp(timeline, {.kind = SliceKind::kReduceBeside}), "NCCL reduce-scatter, hidden");
  EXPECT_EQ(SliceOp(timeline, {.kind = SliceKind::kWait, .stage = 2}), "waits for stage 2");
}

// Limit: 100,000 passes.
TEST(PlanTimelineTest, TooManyPassesAreRefused) {
  EXPECT_NO_THROW(PredictedBy({"dp=1", "gpt2", 50'000}));
  try {
    PredictedBy({"dp=1", "gpt2", 50'001});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
  }
}

}  // namespace
}  // namespace lanescope::sims::plans
