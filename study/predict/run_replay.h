// SPDX-License-Identifier: Apache-2.0
// The identity replay of a recorded run of a graph.
#pragma once

#include "sims/predict/replay.h"

namespace lanescope {
struct Machine;
}  // namespace lanescope

namespace lanescope::traces {
class TraceReader;
struct RecordedSchedule;
}  // namespace lanescope::traces

namespace lanescope::study {

// The schedule of a measured run with the durations that its commands had, and between them what calibration
// finds in the run itself. Throws FailedPrecondition for a run that was simulated, or that ran several
// schedules, and what TraceReader and ReadSchedule throw.
sims::ReplayReport ReplayRun(traces::TraceReader* reader, int run);
// The schedule was read already.
sims::ReplayReport ReplayRun(traces::TraceReader* reader, int run, const traces::RecordedSchedule& recorded,
                             const Machine& machine);

}  // namespace lanescope::study
