// SPDX-License-Identifier: Apache-2.0
// Lets a profiler learn which command of which schedule a device's activity belongs to.
#pragma once

#include <span>
#include <utility>

#include "core/base/id.h"

namespace lanescope {

struct Command;

// Called by the threads that issue commands to a device, around each launch or copy; Begin and End are not
// nested. Between them every call to the device's library belongs to the command; while commands are recorded
// into a graph, every node that is made does. Thread-safe.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  // `command` is one of the schedule; for the launch of a whole recorded graph, of its
  // first command.
  virtual void Begin(int schedule, int step, Id<Command> command) = 0;
  virtual void End() = 0;
  // Nodes of a graph that was recorded (cudaGraphNode_t) and the command that each belongs to. The graph
  // lives until the next call for this schedule.
  virtual void GraphRecorded(int schedule, std::span<const std::pair<const void*, Id<Command>>> nodes) = 0;
};

}  // namespace lanescope
