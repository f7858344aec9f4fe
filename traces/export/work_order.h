// SPDX-License-Identifier: Apache-2.0
// Which work of a schedule waits for which. Internal to traces.
#pragma once

#include "core/base/rows.h"
#include "traces/read/run_tables.h"

namespace lanescope::traces {

// By command (index into the run's commands), the launches and copies that it waits for: Record and Wait on
// the way are left out, and of what they stand for on an in-order queue all but the last. Empty rows for a
// run that records no commands.
Rows<> WorkBefore(RunTables tables);

}  // namespace lanescope::traces
