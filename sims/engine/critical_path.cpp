// SPDX-License-Identifier: Apache-2.0
#include "sims/engine/critical_path.h"

#include "core/runs/event_view.h"
#include "core/runs/step_path.h"

namespace lanescope::sims {
CriticalPath FindCriticalPath(const Schedule& schedule, const Machine& machine,
                              const SimulationResult& result) {
  const RunView view = ViewOfEvents(nullptr, machine, schedule, EventsOfStep(schedule, result));
  const StepPath found = StepPathFinder(view).Find(0);
  CriticalPath path;
  path.launch_ns_by_device.assign(machine.devices.size(), 0);
  for (const int item : found.OnPath()) {
    const WorkItem& work = found.items[static_cast<size_t>(item)];
    path.commands.push_back(
        CommandId(view.lanes[static_cast<size_t>(work.lane)].slices->command[work.slice]));
  }
  for (const PathSegment& segment : found.segments) {
    if (segment.waiting) continue;
    const WorkItem& work = found.items[static_cast<size_t>(segment.item)];
    if (work.kind == WorkKind::kCopy) continue;
    const DeviceId device(view.lanes[static_cast<size_t>(work.lane)].device);
    path.launch_ns_by_device[device] += segment.end_ns - segment.start_ns;
  }
  const StepPath::Totals totals = found.totals();
  path.launch_ns = totals.launch_ns;
  path.copy_ns = totals.transfer_ns;
  path.overhead_ns = totals.waiting_ns;
  return path;
}

}  // namespace lanescope::sims
