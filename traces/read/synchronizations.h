// SPDX-License-Identifier: Apache-2.0
// Waits of threads and streams, where a trace records that. Internal to traces.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

struct TraceSynchronization {
  enum class Kind : uint8_t { kEvent = 1, kStreamWaits, kStream, kContext };  // ENUM_CUPTI_SYNC_TYPE
  Kind kind = Kind::kContext;
  int device = 0;
  int stream = -1;  // that is waited for; of kStreamWaits: that waits
  int64_t global_pid = 0;
  int64_t correlation = -1;  // of the call
  // The event that is waited for: the call that recorded it, and on which stream. -1: the trace does not say.
  int64_t recorded_by = -1;
  int recorded_on = -1;
};

// The waits of one run.
std::vector<TraceSynchronization> ReadSynchronizations(TraceReader& reader, int run);

}  // namespace lanescope::traces
