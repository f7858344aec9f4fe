// SPDX-License-Identifier: Apache-2.0
// Records that one call hands to the thread that writes a trace. Internal to traces/record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "traces/record/trace_writer.h"

namespace lanescope::traces {

struct EventBatch {
  int run = 0;
  std::vector<Event> events;
  int64_t dropped = 0;
  std::optional<ActivityBatch> activities;
  size_t weight = 0;  // in events
  std::optional<InputRecord> input = std::nullopt;
};

}  // namespace lanescope::traces
