// SPDX-License-Identifier: Apache-2.0
// A compiled step as a trace tells it, in the terms of core.
#pragma once

#include <vector>

#include "core/graph/signature.h"
#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/schedule/schedule.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {

struct RecordedSchedule {
  // Commands, queues, dependencies and the two ends of copies; nothing of memory, shapes and feeds.
  Schedule schedule;
  IdVector<CommandId, SignedWork> work;  // only launches have any
  std::vector<Event> events;             // of these commands, and the run's steps: of those that count
};

// Schedule `number` of the run, on the devices of `machine`. Throws DataLoss for a command or queue on a
// device that the machine lacks, and for commands and dependencies that make no sense.
RecordedSchedule ReadSchedule(const TraceRun& run, int number, const Machine& machine);
// How many schedules the run has.
int NumSchedules(const TraceRun& run);

}  // namespace lanescope::traces
