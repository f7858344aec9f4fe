// SPDX-License-Identifier: Apache-2.0
// The queues of a run's schedules, as recorded. Internal to traces.
#pragma once

#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// Fills `run->queues`; its commands are there already. Files of schema version 2 and before tell of a queue
// only which commands are on it. Then copies are out of its device, unless they all come from elsewhere; it
// is in order if it holds Record or Wait, which no other queue needs; and it has one worker.
void ReadQueues(Database& database, int run_id, TraceRun* run);

}  // namespace lanescope::traces
