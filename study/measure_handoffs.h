// How long a device takes to notice that what it waited for has ended: measured on a chain of commands made
// for this, which is no graph that anybody compares.
#pragma once

#include <memory>
#include <vector>

#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/schedule/schedule.h"
#include "study/cancellation.h"

namespace lanescope::study {

// Recorded steps of the chain; empty where the machine has no two virtual GPUs with a link between them.
struct HandoffRun {
  std::shared_ptr<const Schedule> schedule;
  std::vector<Event> events;
};

// An element-wise op on one virtual GPU, a copy of its result to the other, the same op there and back, and
// so on; then a chain of ops on alternating GPUs that wait for each other without data. At every moment one
// command runs, so that no hand-off waits for a core. Some tenths of a second, by the speed
// of the links. Throws Cancelled.
HandoffRun MeasureHandoffs(const Machine& machine, Cancellation* cancellation = nullptr);

}  // namespace lanescope::study
