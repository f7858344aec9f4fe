// SPDX-License-Identifier: Apache-2.0
// Times of steps whose input comes from queues that threads fill.
#pragma once

#include <optional>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "sims/cost/input_costs.h"
#include "sims/predict/pipeline.h"
#include "sims/predict/predict.h"
#include "study/workload/workload.h"

namespace lanescope::study {

// The runners of the workload and its step, as far as they meet in queues: the step is the first stage.
// `prediction`: of a step that never waits. Empty where the step takes nothing from a queue that a runner
// fills, or where `costs` does not know one of the runners' ops.
std::optional<sims::Pipeline> PipelineOf(const Workload& workload, const Machine& machine,
                                         const Schedule& schedule, const sims::Prediction& prediction,
                                         const sims::InputCosts& costs);

// Adds what the step waits for: it becomes as long as the pipeline lets it be, and what comes after it has
// taken comes later.
void AddInput(const Workload& workload, const Machine& machine, const Schedule& schedule,
              const sims::InputCosts& costs, sims::Prediction* prediction);

// Steps that what its queues can hold lasts, so that one that was filled meanwhile is as in the middle of a
// run again. 0: none is filled.
int StoredSteps(const Workload& workload);

}  // namespace lanescope::study
