// SPDX-License-Identifier: Apache-2.0
#include "traces/record/memory_timeline.h"

#include <algorithm>
#include <limits>

namespace lanescope::traces {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

struct Change {
  int64_t time_ns;
  int64_t bytes;
};

}  // namespace

MemoryUse::MemoryUse(const Schedule& schedule) : persistent_(schedule.persistent_bytes) {
  buffers_.reserve(schedule.buffers.size());
  for (const Buffer& buffer : schedule.buffers) buffers_.push_back({buffer.device, buffer.bytes});
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    const auto use = [&](ValueId value) {
      if (!value.exists()) return;
      const int buffer = schedule.values[value].buffer;
      if (buffer >= 0) uses_.emplace_back(c, buffer);
    };
    for (const ValueId value : schedule.Inputs(command)) use(value);
    for (const ValueId value : schedule.Outputs(command)) use(value);
  }
  for (const ValueId value : schedule.fetches) {
    if (!value.exists()) continue;
    const int buffer = schedule.values[value].buffer;
    if (buffer >= 0) fetched_.push_back(buffer);
  }
}

std::vector<MemoryPoint> MemoryUse::Timeline(
    const IdVector<CommandId, std::pair<int64_t, int64_t>>& times) const {
  std::vector<std::pair<int64_t, int64_t>> held(buffers_.size(), {kNever, -kNever});
  int64_t step_start = kNever, step_end = -kNever;
  for (const auto& [start, end] : times) {
    if (end < start) continue;
    step_start = std::min(step_start, start);
    step_end = std::max(step_end, end);
  }
  if (step_start == kNever) return {};
  for (const auto& [command, buffer] : uses_) {
    const auto& [start, end] = times[command];
    if (end < start) continue;
    auto& range = held[static_cast<size_t>(buffer)];
    range = {std::min(range.first, start), std::max(range.second, end)};
  }
  for (const int buffer : fetched_) {
    auto& range = held[static_cast<size_t>(buffer)];
    if (range.first != kNever) range.second = step_end;
  }

  IdVector<DeviceId, std::vector<Change>> changes;
  for (const int64_t bytes : persistent_) changes.Add({{step_start, bytes}});
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (held[i].first == kNever) continue;
    std::vector<Change>& of_device = changes[buffers_[i].device];
    of_device.push_back({held[i].first, buffers_[i].bytes});
    of_device.push_back({held[i].second, -buffers_[i].bytes});
  }
  std::vector<MemoryPoint> points;
  for (const DeviceId device : changes.ids()) {
    std::vector<Change>& of_device = changes[device];
    std::ranges::sort(of_device, {}, &Change::time_ns);
    int64_t bytes = 0;
    for (size_t i = 0; i < of_device.size(); ++i) {
      bytes += of_device[i].bytes;
      const bool last_at_time = i + 1 == of_device.size() || of_device[i + 1].time_ns != of_device[i].time_ns;
      if (last_at_time) points.push_back({of_device[i].time_ns, device, bytes});
    }
  }
  return points;
}

}  // namespace lanescope::traces
