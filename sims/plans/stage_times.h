// SPDX-License-Identifier: Apache-2.0
// The work of a GPU of each stage in a step under a plan, and its time: the parts that the pipeline's walk
// puts in order. Internal to sims/plans.
#pragma once

#include <vector>

#include "sims/plans/layer.h"

namespace lanescope::sims::plans {

// A collective that runs beside work, in seconds.
struct BesideWork {
  double exposed = 0;  // what it costs: all that is longer than the work, and a share of the rest
  double hidden = 0;   // what of it lies beside the work
};

// One way of a micro-batch through a part of a stage. What runs follows in this order; all but what is hidden
// adds up to its time.
struct PassTimes {
  BesideWork gather;    // of sharded parameters
  Work again;           // computed again: backward alone
  Work work;            // forward, or gradients
  double launches = 0;  // what the host takes longer than the kernels of both
  BesideWork scatter;   // of sharded gradients: backward alone
  double compute() const { return work.products + work.attention + work.passes + launches; }
  double recomputed() const { return again.products + again.attention + again.passes; }
  double seconds() const {
    return gather.exposed + again.kernels() + work.kernels() + launches + scatter.exposed;
  }
};

struct StageTimes {
  std::vector<PassTimes> forward, backward;  // by part
  BesideWork gather;                         // of parameters, before the first pass
  BesideWork reduce;                         // of gradients, behind the last
  double update = 0;                         // the optimizer
  double forward_seconds() const;            // of all parts, one micro-batch
  double backward_seconds() const;
};

struct PlanTimes {
  std::vector<StageTimes> stages;
  int parts = 1;                  // of each stage
  double micro_batches = 1;       // of a replica
  double message = 0;             // from a stage to the next one
  double message_share = 0;       // of it that the stage itself waits for
  double straggling = 0;          // of all: how much later the last of the nodes is
  bool reduces_to_parts = false;  // gradients are scattered, else added up on all
  double sent() const { return message * message_share; }
};

// `plan` divides all (CheckPlan).
PlanTimes TimesOf(const ModelShape& model, const Plan& plan, const PlanMachine& machine, double global_batch,
                  double sequence);

}  // namespace lanescope::sims::plans
