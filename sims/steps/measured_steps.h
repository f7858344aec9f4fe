// SPDX-License-Identifier: Apache-2.0
// The events of a measured run, step by step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/record/event.h"
#include "core/schedule/schedule.h"

namespace lanescope::sims {

struct MeasuredStep {
  int step = 0;
  int64_t start_ns = 0, end_ns = 0;
  IdVector<CommandId, int64_t> command_start_ns, command_end_ns;
};

// The complete steps from number `warmup_steps` on, in order. Incomplete ones (a launch, a copy or the step's
// own event is missing: the run was cut off, records were dropped) are left out. What publishes no event
// (Record, Wait, and on streams what runs nothing) gets the end of its last dependency. A command of the host
// that waits for streams begins when they are through: what was recorded may count its waiting. Throws
// InvalidArgument for an event of a command that the schedule lacks, or that ends before it starts.
std::vector<MeasuredStep> GroupSteps(const Schedule& schedule, std::span<const Event> events,
                                     int warmup_steps);

// By command: those that it waits for.
Rows<CommandId, CommandId> PredecessorsOf(const Schedule& schedule);
// By command: the last launch or copy before each Record that a Wait between it and the one before it on its
// stream waits for.
Rows<CommandId, CommandId> WaitedFor(const Schedule& schedule,
                                     const Rows<CommandId, CommandId>& predecessors);

// The steps of the middle half by length: the mean of what ran in them is the mean of a step that is like the
// median, and so what the prediction is compared with.
std::vector<MeasuredStep> TypicalSteps(std::vector<MeasuredStep> steps);

}  // namespace lanescope::sims
