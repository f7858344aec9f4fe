// SPDX-License-Identifier: Apache-2.0
// How the processes of a job end a step together. Internal to exec.
#pragma once

#include <functional>
#include <vector>

#include "core/schedule/task_share.h"
#include "exec/messages/transport.h"
#include "exec/run/executor.h"

namespace lanescope::exec {

// Throws ResourceExhausted where the transport has too few tags for the step's messages.
void RequireTags(const TaskShare& share, const Transport& transport);

// A tag that no message of the step has.
int EndOfStepTag(const TaskShare& share, int64_t step);

// The times of all processes, by rank, each by its own clock, once all have handed in theirs. `wait` is
// called again and again meanwhile with one that has not; what it throws ends the exchange.
std::vector<StepTimes> ExchangeTimes(Transport* transport, const StepTimes& own, int tag,
                                     const std::function<void(int missing)>& wait);

}  // namespace lanescope::exec
