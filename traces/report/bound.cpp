// SPDX-License-Identifier: Apache-2.0
#include "traces/report/bound.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "traces/report/longest_launch.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

constexpr double kDecides = 0.5;

// One candidate, summed over the devices.
struct Resource {
  std::string_view name, words;
  double covered = 0;  // sum of the devices' fractions
  double most = 0;     // the largest of them
  double bytes = 0, busy_ns = 0, ceiling = 0;
};

void Cover(double fraction, Resource* resource) {
  resource->covered += fraction;
  resource->most = std::max(resource->most, fraction);
}

void AddCopies(const WorkingDevice& device, CopyClass copy_class, double ceiling, Resource* resource) {
  DeviceActivity::Copies& copies = device.activity->copies[static_cast<size_t>(copy_class)];
  const std::span<const Interval> busy = copies.busy.Union();
  Cover(static_cast<double>(TotalLength(ClipTo(busy, device.windows))) /
            static_cast<double>(device.time.window_ns),
        resource);
  resource->bytes += static_cast<double>(copies.totals.bytes);
  resource->busy_ns += static_cast<double>(TotalLength(busy));
  resource->ceiling = std::max(resource->ceiling, ceiling);
}

std::vector<Resource> ResourcesOf(const std::vector<WorkingDevice>& devices) {
  std::vector<Resource> resources = {{"compute", "kernels"},
                                     {"communication", "NCCL kernels"},
                                     {"copy-in", "host-to-device copies"},
                                     {"copy-out", "device-to-host copies"},
                                     {"peer-copy", "copies between devices"},
                                     {"memory-copy", "copies within the device"},
                                     {"idle", "nothing runs"}};
  for (const WorkingDevice& device : devices) {
    if (device.time.window_ns <= 0) continue;
    const auto window = static_cast<double>(device.time.window_ns);
    Cover(static_cast<double>(device.time.compute_ns) / window, &resources[0]);
    Cover(static_cast<double>(device.time.communication_ns) / window, &resources[1]);
    AddCopies(device, CopyClass::kHostToDevice, device.ceilings.copy_in, &resources[2]);
    AddCopies(device, CopyClass::kDeviceToHost, device.ceilings.copy_out, &resources[3]);
    AddCopies(device, CopyClass::kDeviceToDevice, device.ceilings.peer, &resources[4]);
    AddCopies(device, CopyClass::kWithinDevice, device.ceilings.memory, &resources[5]);
  }
  return resources;
}

double MeanShare(const std::vector<WorkingDevice>& devices, int64_t DeviceTime::*part) {
  double sum = 0;
  for (const WorkingDevice& device : devices) {
    sum += static_cast<double>(device.time.*part) / static_cast<double>(device.time.window_ns);
  }
  return devices.empty() ? 0 : sum / static_cast<double>(devices.size());
}

// In sentences whole percents say enough, but of small shares.
std::string RoughPercent(double fraction) { return PercentText(fraction, fraction >= 0.0995 ? 0 : 1); }

std::string BoundText(const Summary& summary, const std::vector<WorkingDevice>& devices) {
  const Bound& bound = *summary.bound;
  std::string text = bound.name + " bound: ";
  if (bound.name == "idle") {
    text += fmt::format("nothing runs for {} of the window", RoughPercent(bound.coverage));
  } else {
    for (const Resource& resource : ResourcesOf({})) {
      if (resource.name == bound.name) text += resource.words;
    }
    text += fmt::format(" cover {} of the window", RoughPercent(bound.coverage));
  }
  if (bound.bytes_per_second > 0) text += fmt::format(" at {}", FormatBandwidth(bound.bytes_per_second));
  if (bound.bytes_per_second > 0 && bound.ceiling_per_second > 0) {
    text += fmt::format(" of {} ({})", FormatBandwidth(bound.ceiling_per_second),
                        PercentText(bound.bytes_per_second / bound.ceiling_per_second, 0));
  }
  if (bound.name != "compute") {
    text += fmt::format(", kernels {}", RoughPercent(MeanShare(devices, &DeviceTime::compute_ns)));
  } else if (const LongestLaunch longest = LongestLaunchOf(summary); longest.row != nullptr) {
    text += fmt::format(", the longest, {}, {} of their time", ShortName(longest.row->name),
                        RoughPercent(longest.share));
  }
  const double communication = MeanShare(devices, &DeviceTime::communication_ns);
  if (bound.name != "communication" && communication > 0) {
    text += fmt::format(", NCCL {} ({} exposed)", RoughPercent(communication),
                        RoughPercent(MeanShare(devices, &DeviceTime::exposed_ns)));
  }
  const double copies = MeanShare(devices, &DeviceTime::copies_ns);
  if (!bound.name.ends_with("-copy") && !bound.name.starts_with("copy-") && copies > 0) {
    text += fmt::format(", copies {}", RoughPercent(copies));
  }
  if (bound.devices > 1) text += fmt::format(" (mean of {} devices)", bound.devices);
  if (bound.name != "idle") {
    return text + fmt::format("; hiding all else would save at most {} of it", RoughPercent(1 - bound.most)) +
           ".";
  }
  if (summary.idle_call_ns > 0) {
    text += fmt::format("; of the API calls {} takes the most of that time ({})", summary.idle_call,
                        TimeText(summary.idle_call_ns));
  }
  return text + ".";
}

// The sums of the run's devices together.
std::string SharesText(const Summary& summary) {
  const Communication& c = summary.communication;
  const int64_t span = c.compute_ns + c.exposed_ns + c.idle_ns;
  const auto percent = [&](int64_t ns) {
    return PercentText(static_cast<double>(ns) / static_cast<double>(span));
  };
  const std::string_view what = c.nccl_ns > 0 ? "communication" : "copies";
  const bool one = c.nccl_ns > 0;
  std::string kind = "Compute decides";
  if (c.exposed_ns > c.compute_ns && c.exposed_ns >= c.idle_ns) {
    kind = one ? "Communication decides" : "Copies decide";
  }
  if (c.idle_ns > c.compute_ns && c.idle_ns > c.exposed_ns) kind = "Waiting decides";
  std::string text = fmt::format("{}: of {}, ops run {}, {} that nothing hides {}, nothing {}", kind,
                                 TimeText(static_cast<double>(span) / std::max(1, c.devices)),
                                 percent(c.compute_ns), what, percent(c.exposed_ns), percent(c.idle_ns));
  const int64_t copies = c.exposed_ns + c.overlapped_ns;
  if (copies > 0) {
    text += fmt::format("; {} of the {} is hidden by compute",
                        PercentText(static_cast<double>(c.overlapped_ns) / static_cast<double>(copies), 0),
                        one ? "communication" : "copying");
  }
  int64_t count = 0, bytes = 0;
  for (const TrafficRow& row : summary.traffic) {
    if (row.copy_class != CopyClass::kDeviceToDevice) continue;
    count += row.count;
    bytes = AddSaturating(bytes, row.bytes);
  }
  if (count > 0) {
    text += fmt::format("; {} copies{} go from device to device", count,
                        bytes > 0 ? fmt::format(" with {}", FormatBytes(bytes)) : "");
  }
  if (const LongestLaunch longest = LongestLaunchOf(summary); longest.row != nullptr) {
    text += fmt::format("; of what computes {} takes the most time ({})", ShortName(longest.row->name),
                        RoughPercent(longest.share));
  }
  return text + ".";
}

}  // namespace

std::optional<Bound> FindBound(const std::vector<WorkingDevice>& devices, double idle) {
  if (devices.empty()) return std::nullopt;
  std::vector<Resource> resources = ResourcesOf(devices);
  resources.back().covered = idle * static_cast<double>(devices.size());
  const auto most =
      std::max_element(resources.begin(), resources.end(),
                       [](const Resource& a, const Resource& b) { return a.covered < b.covered; });
  const auto count = static_cast<double>(devices.size());
  if (most->covered / count < kDecides) return std::nullopt;
  Bound bound;
  bound.name = most->name;
  bound.coverage = std::min(1.0, most->covered / count);
  bound.most = std::clamp(most->most, bound.coverage, 1.0);
  bound.bytes_per_second = most->busy_ns > 0 ? most->bytes * 1e9 / most->busy_ns : 0;
  bound.ceiling_per_second = most->ceiling;
  bound.devices = static_cast<int>(devices.size());
  return bound;
}

std::string VerdictOf(const Summary& summary, const std::vector<WorkingDevice>& devices) {
  const Communication& c = summary.communication;
  if (c.compute_ns + c.exposed_ns + c.idle_ns == 0) return "The run has no activity.";
  return summary.bound ? BoundText(summary, devices) : SharesText(summary);
}

Ceilings CeilingsOf(const std::optional<Machine>& machine, const TraceDevice* device) {
  Ceilings ceilings;
  if (device == nullptr) return ceilings;
  // A copy within a device reads and writes its memory.
  ceilings.memory = static_cast<double>(device->memory_bandwidth) / 2;
  const DeviceId number = machine ? machine->FindDevice(device->name) : DeviceId();
  if (!number.exists()) return ceilings;
  ceilings.memory = machine->device(number).memory_bandwidth / 2;
  const auto rate = [&](DeviceId src, DeviceId dst) { return machine->RouteBetween(src, dst).bandwidth; };
  try {
    ceilings.copy_in = rate(machine->host(), number);
    ceilings.copy_out = rate(number, machine->host());
    for (const DeviceId gpu : machine->Gpus()) {
      if (gpu != number) ceilings.peer = std::max(ceilings.peer, rate(number, gpu));
    }
  } catch (const Error&) {
    return ceilings;  // a machine without such a link
  }
  return ceilings;
}

}  // namespace lanescope::traces
