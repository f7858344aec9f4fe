// What messages between the tasks of a job take, each alone, with all that the processes do for them:
// measured on a graph made for this, which is none that anybody compares.
#pragma once

#include <vector>

#include "core/machine/machine.h"
#include "exec/measure.h"
#include "sims/step_samples.h"
#include "study/cancellation.h"
#include "study/job.h"

namespace lanescope::study {

// Between the hosts of the first task and of every other one, there and back, of 1 KiB to 4 MiB, but for what
// takes longer than 20 ms by the machine. All processes call it; the first one gets the times. Nothing in a
// process alone. Throws Cancelled.
std::vector<exec::LinkTime> MeasureMessages(const Machine& machine, Job* job, Cancellation* cancellation);

// Whether a copy goes from the host of one task to that of another.
bool IsMessage(const Machine& machine, DeviceId src, DeviceId dst);

}  // namespace lanescope::study
