// SPDX-License-Identifier: Apache-2.0
// The steps of a run of ours, and which of them count. Internal to traces.
#pragma once

#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// Fills `steps` and `untimed_steps`. All steps count where fewer than a third of them were left alone by
// others. Rows that mean nothing are counted as invalid.
void ReadSteps(Database& database, int run, TraceRun* out);

}  // namespace lanescope::traces
