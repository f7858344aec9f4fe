// SPDX-License-Identifier: Apache-2.0
// The record of a run's input. Internal to traces.
#pragma once

#include "core/record/input_record.h"

namespace lanescope::traces {

class Database;

// Threads and queues by number, steps, waits and fills by start. Rows whose times are none are counted in
// `*invalid_rows` and left out, and so are rows that name a queue or thread that is not there.
InputRecord ReadInput(Database& database, int run, int64_t* invalid_rows);

}  // namespace lanescope::traces
