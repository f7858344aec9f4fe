// SPDX-License-Identifier: Apache-2.0
#include "study/predict/run_replay.h"

#include "core/base/error.h"
#include "core/machine/machine.h"
#include "sims/steps/measured_steps.h"
#include "study/predict/calibration.h"
#include "traces/read/recorded_schedule.h"
#include "traces/read/trace_reader.h"

namespace lanescope::study {

sims::ReplayReport ReplayRun(traces::TraceReader* reader, int run, const traces::RecordedSchedule& recorded,
                             const Machine& machine) {
  const auto steps = sims::GroupSteps(recorded.schedule, recorded.events, 0);
  return sims::ReplaySteps(recorded.schedule, machine, steps, CalibrateOnRun(reader, run).effects);
}

sims::ReplayReport ReplayRun(traces::TraceReader* reader, int run) {
  const traces::TraceRunInfo info = reader->RunInfoOf(run);
  if (info.simulated)
    Throw(Code::kFailedPrecondition,
          "run {} is a prediction, and only measured runs replay: simulate the graph", run);
  const traces::TraceRun trace = reader->ReadRun(run);
  if (traces::NumSchedules(trace) != 1) {
    Throw(Code::kFailedPrecondition, "run {} has {} schedules; only runs of one replay", run,
          traces::NumSchedules(trace));
  }
  const Machine machine = ParseMachine(info.machine_json);
  return ReplayRun(reader, run, traces::ReadSchedule(trace, 0, machine), machine);
}

}  // namespace lanescope::study
