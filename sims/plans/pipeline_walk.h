// SPDX-License-Identifier: Apache-2.0
// The passes of a plan's pipeline in time: the one rule by which a step's length and its timeline come about.
// Internal to sims/plans.
#pragma once

#include <vector>

#include "core/strategies/pipeline_passes.h"
#include "sims/plans/stage_times.h"

namespace lanescope::sims::plans {

struct WalkedPass {
  PipelinePass pass;
  double start = 0, end = 0;  // seconds; behind its end the stage sends or receives
  double sent = 0;            // for how long
  int waited_for = -1;        // the stage whose message came last; -1: it waited for none
};

// In seconds from the beginning of the step.
struct StageWalk {
  std::vector<WalkedPass> passes;
  double done = 0;     // all passes
  double reduced = 0;  // and its gradients
  double updated = 0;  // and its parameters
};

struct PipelineWalk {
  std::vector<StageWalk> stages;
  double walked = 0;   // micro-batches
  double reduced = 0;  // gradients of all stages: their norm, before any parameter changes
  double updated = 0;  // parameters of all stages
  double seconds = 0;  // with the last of the nodes
  int slowest = 0;     // the stage with the most work
};

// Passes of all stages that are walked at most. More micro-batches than that follow at the pace of the
// slowest stage, at the end.
inline constexpr double kMostPasses = 100'000;

// One forward, one backward, interleaved where stages have parts (core/strategies/pipeline_passes.h). A pass
// begins when its stage is free and the message of its neighbour is there; the stage is free again when it
// has sent on. Gradients are reduced behind a stage's last pass. Parameters change when those of all stages
// are reduced, and a step ends when the last of the nodes has done that.
PipelineWalk WalkPipeline(const PlanTimes& times);

}  // namespace lanescope::sims::plans
