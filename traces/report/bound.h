// SPDX-License-Identifier: Apache-2.0
// The resource that a run is bound by, and the sentence that says so. Internal to traces.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "traces/report/activity_totals.h"
#include "traces/report/device_usage.h"
#include "traces/report/summary.h"

namespace lanescope::traces {

// Rates that a device or its links cannot exceed (bytes per second); 0: not known.
struct Ceilings {
  double copy_in = 0, copy_out = 0, peer = 0, memory = 0;
};
// From the machine of the run, or the description of the GPU; zeros where neither tells. `device` may be
// null.
Ceilings CeilingsOf(const std::optional<Machine>& machine, const TraceDevice* device);

struct WorkingDevice {
  int id = 0;
  DeviceActivity* activity = nullptr;
  DeviceTime time;  // over the window
  Ceilings ceilings;
  std::span<const Interval> windows{};  // sorted and disjoint
};

// The rule: of compute, NCCL kernels, copies by direction and idle time, the one whose union of intervals
// covers the largest part of the window on the mean device; empty when that is less than half of it, since
// then no single resource decides. `devices`: those that are no host and did something.
// `idle`: fraction of the window in which no device does anything; devices that wait for each other are not
// idle.
std::optional<Bound> FindBound(const std::vector<WorkingDevice>& devices, double idle);

// "copy-in bound: host-to-device copies cover 95% of the window at 27.7 GB/s, kernels 2.3%; ...". Without a
// bound, what the sum of all devices says.
std::string VerdictOf(const Summary& summary, const std::vector<WorkingDevice>& devices);

}  // namespace lanescope::traces
