// SPDX-License-Identifier: Apache-2.0
// Events, whoever made them: the executor (real time), the simulator (virtual time), CUPTI (a
// GPU's own time).
#pragma once

#include <cstdint>
#include <span>

#include "core/base/id.h"

namespace lanescope {

struct Command;

enum class EventKind : uint8_t {
  kCommand,  // a Launch or Copy ran from start to end
  kStep,     // one session run; no command
};

// One fixed-size record. Times are ns of the run's clock; `schedule` numbers the schedules of a run in order
// of registration.
struct Event {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t bytes = 0;         // copies: bytes moved
  Id<Command> command = {};  // of the schedule
  int32_t step = 0;
  int32_t schedule = 0;
  EventKind kind = EventKind::kCommand;
  bool by_pair = false;  // timed by a pair of events on its stream, which takes time of the device
};

// Receives events in batches, on one thread at a time (the recorder's drainer, or the simulator's caller).
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void Consume(std::span<const Event> events) = 0;
  // Records that were overwritten before they could be drained.
  virtual void CountDropped(int64_t records) = 0;
};

}  // namespace lanescope
