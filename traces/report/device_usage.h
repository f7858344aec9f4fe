// From the intervals of activities to times by device and to what covers the time most. Private to traces/.
#pragma once

#include <vector>

#include "traces/report/activity_totals.h"
#include "traces/report/device_time.h"

namespace lanescope::traces {

// Sorted, disjoint intervals of one device.
struct DeviceIntervals {
  std::vector<Interval> compute, communication, copies, memsets;
};
DeviceIntervals IntervalsOf(DeviceActivity* activity);
// Of all devices together: a moment counts when it does on any of them.
DeviceIntervals UnionOf(const std::vector<DeviceIntervals>& devices);

DeviceTime TimeWithin(const DeviceIntervals& device, Interval window);

}  // namespace lanescope::traces
