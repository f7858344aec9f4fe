// The events of a schedule, measured or simulated, as a RunView.
#pragma once

#include <span>

#include "core/event.h"
#include "core/graph.h"
#include "core/machine.h"
#include "core/run_view.h"
#include "core/schedule.h"

namespace lanescope {

// All events are of this schedule. `graph` gives ops their names and must outlive the view; null: they have
// none.
RunView ViewOfEvents(const Graph* graph, const Machine& machine, const Schedule& schedule,
                     std::span<const Event> events);

}  // namespace lanescope
