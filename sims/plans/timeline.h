// SPDX-License-Identifier: Apache-2.0
// A predicted step as slices on a GPU of every stage: what it computes, what it moves and what it waits for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sims/plans/machine.h"
#include "sims/plans/model_shape.h"
#include "sims/plans/plan.h"

namespace lanescope::sims::plans {

enum class SliceKind : uint8_t {
  kForward,
  kRecompute,  // forward again, before gradients
  kBackward,
  kTensor,   // collectives of tensor parallelism that nothing hides
  kContext,  // of context parallelism
  kExperts,  // of expert parallelism
  kGather,   // parameters of shards: what it costs
  kReduce,   // gradients over replicas: what it costs
  kMessage,  // to or from a neighbour, for which the stage waits
  kOptimizer,
  kGatherBeside,  // what of a collective lies beside work
  kReduceBeside,
  kFill,   // waiting until the first gradients come
  kDrain,  // waiting behind the last forward pass
  kWait,   // for another stage in between
  kLast,   // for the last of the nodes
};
enum class SliceLane : uint8_t { kWork, kBeside, kIdle };
SliceLane LaneOf(SliceKind kind);

struct PlanSlice {
  SliceKind kind = SliceKind::kForward;
  int64_t start_ns = 0, end_ns = 0;
  int micro_batch = -1, part = -1;  // from 0; -1: of none
  int stage = -1;                   // kWait: which one
};

struct StageSlices {
  int rank = 0;                   // its first GPU
  std::vector<PlanSlice> slices;  // by lane ascending and disjoint; kWork and kIdle leave no gap
};
struct SlicePlace {
  int stage = 0;
  size_t slice = 0;
};

struct PlanTimeline {
  std::vector<StageSlices> stages;
  // Slices that wait for another stage: each, and the one there that ends first.
  std::vector<std::pair<SlicePlace, SlicePlace>> waits;
  int slowest = 0;      // the stage that PlanStep is of
  int64_t step_ns = 0;  // the end of every stage's last slice, and EstimateStep's seconds
  int parts = 1;
  std::string_view reduction = "all-reduce";  // of gradients
};

// "forward", "bubble: fill", "NCCL all-gather, exposed", "waits for stage 2": equal for slices alike, those
// of NCCL with its name in front.
std::string SliceOp(const PlanTimeline& timeline, const PlanSlice& slice);
// "forward 3", of a part "forward 3.1", numbered from 1.
std::string SliceName(const PlanTimeline& timeline, const PlanSlice& slice);

// `plan` divides all (CheckPlan). One GPU of each stage stands for all of it. Throws ResourceExhausted for
// more passes than a timeline shows (100,000).
PlanTimeline TimelineOf(const ModelShape& model, const Plan& plan, const PlanMachine& machine,
                        double global_batch, double sequence);

}  // namespace lanescope::sims::plans
