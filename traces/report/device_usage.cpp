// SPDX-License-Identifier: Apache-2.0
#include "traces/report/device_usage.h"

#include <algorithm>

namespace lanescope::traces {
namespace {

std::vector<Interval> Copied(std::span<const Interval> intervals) {
  return {intervals.begin(), intervals.end()};
}

}  // namespace

DeviceIntervals IntervalsOf(DeviceActivity* activity) {
  DeviceIntervals result;
  result.compute = Copied(activity->compute.Union());
  result.communication = Copied(activity->communication.Union());
  result.memsets = Copied(activity->memsets.Union());
  for (size_t i = 0; i < activity->copies.size(); ++i) {
    auto& copies =
        static_cast<CopyClass>(i) == CopyClass::kWithinDevice ? result.local_copies : result.copies;
    copies = UnionOf(copies, activity->copies[i].busy.Union());
  }
  return result;
}

DeviceTime TimeWithin(const DeviceIntervals& device, std::span<const Interval> windows) {
  const auto compute = ClipTo(device.compute, windows);
  const auto communication = ClipTo(device.communication, windows);
  // Clipped first: of a step's window the whole run's copies need not be looked at.
  const auto copies = UnionOf(ClipTo(device.copies, windows), ClipTo(device.local_copies, windows));
  const auto memsets = ClipTo(device.memsets, windows);
  DeviceTime time;
  time.window_ns = TotalLength(windows);
  time.compute_ns = TotalLength(compute);
  time.communication_ns = TotalLength(communication);
  time.overlapped_ns = IntersectionLength(compute, communication);
  time.exposed_ns = time.communication_ns - time.overlapped_ns;
  const auto kernels = UnionOf(compute, communication);
  time.copies_ns = TotalLength(copies);
  time.hidden_copies_ns = IntersectionLength(kernels, copies);
  time.exposed_copies_ns = time.copies_ns - time.hidden_copies_ns;
  const auto busy = UnionOf(kernels, copies);
  time.exposed_memsets_ns = TotalLength(memsets) - IntersectionLength(busy, memsets);
  time.idle_ns = time.window_ns - TotalLength(busy) - time.exposed_memsets_ns;
  return time;
}

Communication CommunicationWithin(const DeviceIntervals& device, std::span<const Interval> windows) {
  const auto work = UnionOf(ClipTo(device.compute, windows), ClipTo(device.local_copies, windows));
  const auto moving = UnionOf(ClipTo(device.communication, windows), ClipTo(device.copies, windows));
  Communication result;
  result.devices = 1;
  result.compute_ns = TotalLength(work);
  result.overlapped_ns = IntersectionLength(work, moving);
  result.exposed_ns = TotalLength(moving) - result.overlapped_ns;
  result.idle_ns = TotalLength(windows) - result.compute_ns - result.exposed_ns;
  result.nccl_ns = TotalLength(ClipTo(device.communication, windows));
  result.copies_ns = TotalLength(ClipTo(device.copies, windows));
  return result;
}

std::vector<Interval> GapsWithin(const std::vector<DeviceIntervals>& devices,
                                 std::span<const Interval> windows) {
  std::vector<Interval> busy;
  for (const DeviceIntervals& device : devices) {
    for (const auto* part : {&device.compute, &device.communication, &device.copies, &device.local_copies})
      busy = UnionOf(busy, *part);
  }
  std::vector<Interval> gaps;
  for (const Interval& window : windows) {
    int64_t from = window.start;
    for (const Interval& part : ClipTo(busy, std::span(&window, 1))) {
      if (part.start > from) gaps.push_back({from, part.start});
      from = std::max(from, part.end);
    }
    if (window.end > from) gaps.push_back({from, window.end});
  }
  return gaps;
}

}  // namespace lanescope::traces
