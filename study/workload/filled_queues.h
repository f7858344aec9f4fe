// SPDX-License-Identifier: Apache-2.0
// Queues that stay empty for ever, told before a step waits for them.
#pragma once

#include "core/schedule/schedule.h"
#include "study/workload/workload.h"

namespace lanescope::study {

// Threads or processes that may fill the queues of a step.
enum class QueueFillers {
  kInit,   // the step itself, which is what is run before the first one
  kRun,    // what runs: the step, what is run before the first one, queue runners
  kGraph,  // any op of the graph: other processes run others of it, on the same queues
};

// Throws FailedPrecondition, naming both, for a queue and an op of the step, or of a queue runner, that takes
// from it, where none of `fillers` ever puts something in or closes it: what fills it only once something was
// taken from it, or from another queue that stays empty, never does. A queue whose handle goes to an op that
// is neither known to take nor to look may be filled by that.
void RequireFilledQueues(const Workload& workload, const Schedule& step, QueueFillers fillers);

}  // namespace lanescope::study
