// The chain of commands that made a simulated step as long as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule.h"
#include "sims/simulator.h"

namespace lanescope {

// launch + copy + overhead = step.
struct CriticalPath {
  std::vector<int> commands;  // first to last
  int64_t launch_ns = 0;
  int64_t copy_ns = 0;
  int64_t overhead_ns = 0;  // gaps, hand-offs, the beginning and end of the step
  std::vector<int64_t> launch_ns_by_device;
};

// From the command that ends last back to the start: each step goes to whichever held the command up, the
// command before it on its queue or the dependency satisfied last, the later end (with its gap or hand-off);
// a tie goes to the dependency.
CriticalPath FindCriticalPath(const Schedule& schedule, const Machine& machine,
                              const SimulationResult& result, const GapModel& gaps);

}  // namespace lanescope
