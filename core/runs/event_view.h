// SPDX-License-Identifier: Apache-2.0
// The events of a schedule, measured or simulated, as a RunView.
#pragma once

#include <span>

#include "core/graph/graph.h"
#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/runs/run_view.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// All events are of this schedule. `graph` gives ops their names and must outlive the view; null: they have
// none.
RunView ViewOfEvents(const Graph* graph, const Machine& machine, const Schedule& schedule,
                     std::span<const Event> events);

}  // namespace lanescope
