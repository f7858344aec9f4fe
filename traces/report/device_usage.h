// SPDX-License-Identifier: Apache-2.0
// From the intervals of activities to times by device and to what covers the time most. Internal to traces.
// Internal to traces.
#pragma once

#include <span>
#include <vector>

#include "traces/report/activity_totals.h"
#include "traces/report/device_time.h"
#include "traces/report/summary.h"

namespace lanescope::traces {

// Sorted, disjoint intervals of one device.
struct DeviceIntervals {
  std::vector<Interval> compute, communication, memsets;
  std::vector<Interval> copies;        // to and from other devices
  std::vector<Interval> local_copies;  // within the device
};
DeviceIntervals IntervalsOf(DeviceActivity* activity);
// Within windows, which are sorted and disjoint.
DeviceTime TimeWithin(const DeviceIntervals& device, std::span<const Interval> windows);
Communication CommunicationWithin(const DeviceIntervals& device, std::span<const Interval> windows);
// When none of the devices does anything: sorted, disjoint.
std::vector<Interval> GapsWithin(const std::vector<DeviceIntervals>& devices,
                                 std::span<const Interval> windows);

}  // namespace lanescope::traces
