#include "traces/report/device_usage.h"

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
  for (DeviceActivity::Copies& copies : activity->copies) {
    result.copies = traces::UnionOf(result.copies, copies.busy.Union());
  }
  return result;
}

DeviceIntervals UnionOf(const std::vector<DeviceIntervals>& devices) {
  DeviceIntervals result;
  for (const DeviceIntervals& device : devices) {
    result.compute = UnionOf(result.compute, device.compute);
    result.communication = UnionOf(result.communication, device.communication);
    result.copies = UnionOf(result.copies, device.copies);
    result.memsets = UnionOf(result.memsets, device.memsets);
  }
  return result;
}

DeviceTime TimeWithin(const DeviceIntervals& device, Interval window) {
  const auto compute = ClipTo(device.compute, window);
  const auto communication = ClipTo(device.communication, window);
  const auto copies = ClipTo(device.copies, window);
  const auto memsets = ClipTo(device.memsets, window);
  DeviceTime time;
  time.window_ns = window.end - window.start;
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

}  // namespace lanescope::traces
