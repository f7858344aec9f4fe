// SPDX-License-Identifier: Apache-2.0
// The predicted step of a plan as a run of a trace, so that whatever reads measured runs reads it too.
#pragma once

#include <string>

#include "sims/plans/machine.h"
#include "sims/plans/model_shape.h"
#include "sims/plans/plan.h"
#include "study/base/cancellation.h"

namespace lanescope::study {

struct RecordedPlan {
  sims::plans::ModelShape model;
  sims::plans::Plan plan;
  sims::plans::PlanMachine machine;
  double global_batch = 0, sequence = 0;
};

// Appends a run of one simulated step to the trace `path`: a GPU of each stage, with its rank, on three
// queues: what it does, collectives beside that, and what it waits for (sims/plans/timeline.h). Its ops are
// no work of a graph. Returns the run's number. Throws what TimelineOf and TraceWriter throw, and Cancelled.
int RecordPlan(const std::string& path, const RecordedPlan& step, const Cancellation* cancellation);

}  // namespace lanescope::study
