// SPDX-License-Identifier: Apache-2.0
// How much memory the tensors of one step held, over time and by device, from the schedule's buffers and the
// times at which its commands ran.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/schedule/schedule.h"

namespace lanescope::traces {

struct MemoryPoint {
  int64_t time_ns = 0;
  DeviceId device{0};
  int64_t bytes = 0;  // from this time on
};

// The part of a schedule that the timeline needs, so that the schedule need not be kept.
class MemoryUse {
 public:
  explicit MemoryUse(const Schedule& schedule);
  // `times`: start and end (ns); end < start where the command did not run. A buffer is
  // held from the start of its first user to the end of its last one; fetched values to the end of the step.
  // Persistent memory (variables, constants) is held throughout.
  std::vector<MemoryPoint> Timeline(const IdVector<CommandId, std::pair<int64_t, int64_t>>& times) const;

 private:
  struct Held {
    DeviceId device{0};
    int64_t bytes = 0;
  };
  std::vector<Held> buffers_;
  std::vector<std::pair<CommandId, int>> uses_;  // (command, buffer)
  std::vector<int> fetched_;                     // buffers
  IdVector<DeviceId, int64_t> persistent_;
};

}  // namespace lanescope::traces
