// SPDX-License-Identifier: Apache-2.0
// The chain of commands that made a simulated step as long as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/schedule.h"
#include "sims/engine/simulator.h"

namespace lanescope::sims {

// launch + copy + overhead = step.
struct CriticalPath {
  std::vector<CommandId> commands;  // that take time, first to last
  int64_t launch_ns = 0;
  int64_t copy_ns = 0;
  int64_t overhead_ns = 0;  // gaps, hand-offs, the beginning and end of the step
  IdVector<DeviceId, int64_t> launch_ns_by_device;
};

// The path of StepPathFinder (core/runs/step_path.h) through the simulated step.
CriticalPath FindCriticalPath(const Schedule& schedule, const Machine& machine,
                              const SimulationResult& result);

}  // namespace lanescope::sims
