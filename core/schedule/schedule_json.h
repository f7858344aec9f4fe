// SPDX-License-Identifier: Apache-2.0
// A schedule for programs: `place --dump-schedule --json`.
#pragma once

#include <string>

#include "core/schedule/schedule.h"

namespace lanescope {

// One JSON object with all that decides what may run when and which bytes it touches: devices with the size
// of their arenas, queues, commands with what they wait for, read and write, values with their memory.
std::string ScheduleToJson(const Graph& graph, const Machine& machine, const Schedule& schedule);

}  // namespace lanescope
