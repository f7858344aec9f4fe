// SPDX-License-Identifier: Apache-2.0
// Names of devices and processes of a trace.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/machine/device_name.h"
#include "traces/read/trace_reader.h"
#include "traces/store/copy_class.h"

namespace lanescope::traces {

std::string TraceRun::DeviceLabel(int id) const { return traces::DeviceLabel(devices, id); }

std::string ThreadLabel(int64_t global_tid, const std::string& name) {
  const std::string number = fmt::format("thread {}", global_tid & 0xffffff);
  if (name.starts_with(number)) return name;
  return name.empty() ? number : fmt::format("{} ({})", number, name);
}

std::string RankName(const TraceRank& rank) {
  return rank.rank >= 0 ? fmt::format("rank {}", rank.rank) : fmt::format("file {}", rank.file);
}

std::string TaskText(const RunTask& task) {
  return task.process.empty() ? task.name : fmt::format("{} ({})", task.name, Printable(task.process));
}

std::string ClockText(const RunTask& task) {
  return task.clock_uncertainty_ns <= 0 ? ""
                                        : fmt::format("clock within {}", TimeText(task.clock_uncertainty_ns));
}

bool IsNoProcess(int64_t global_pid) {
  constexpr int64_t kMostPids = int64_t{1} << 22;  // of Linux
  return ((global_pid >> 24) & 0xffffff) > kMostPids;
}

const TraceRank* TraceRun::RankOf(int64_t global_pid) const {
  const auto found = std::ranges::find(ranks, static_cast<int64_t>(static_cast<uint64_t>(global_pid) >> 48),
                                       &TraceRank::file);
  return found == ranks.end() ? nullptr : &*found;
}

std::vector<std::string> HostsOf(std::vector<TraceRank> ranks) {
  std::ranges::stable_sort(ranks, {}, &TraceRank::rank);
  std::vector<std::string> hosts;
  for (const TraceRank& rank : ranks) {
    if (!rank.host.empty() && std::ranges::find(hosts, rank.host) == hosts.end()) hosts.push_back(rank.host);
  }
  return hosts;
}

std::string TraceRun::ProcessLabel(int64_t global_pid) const {
  const int64_t pid = (global_pid >> 24) & 0xffffff;
  const auto known = std::ranges::find(processes, global_pid & ~int64_t{0xffffff}, &TraceProcess::global_pid);
  std::string name = known == processes.end() ? "" : Text(known->name);
  name.erase(0, name.rfind('/') + 1);  // exports of Nsight Systems have the whole path
  std::string label = name.empty()              ? fmt::format("process {}", pid)
                      : IsNoProcess(global_pid) ? name
                                                : fmt::format("{} ({})", name, pid);
  if (known != processes.end() && known->rank >= 0) return fmt::format("rank {}: {}", known->rank, label);
  const TraceRank* rank = RankOf(global_pid);
  if (rank == nullptr || ranks.size() < 2) return label;
  const bool machines = HostsOf(ranks).size() > 1;
  return fmt::format("{}{}: {}", machines && !rank->host.empty() ? rank->host + " " : "", RankName(*rank),
                     label);
}

std::string DeviceLabel(const std::vector<TraceDevice>& devices, int id) {
  if (id == kHostDevice) return "host";
  if (id == kUnknownDevice) return "GPU:?";
  for (const TraceDevice& device : devices) {
    if (device.id != id) continue;
    if (!device.label.empty()) return device.label;
    DeviceName name;  // with its task, where that is not this computer's own
    if (ParseDeviceName(device.name, &name) && name.has_type && name.has_id) return name.LocalName();
    const size_t at = device.name.rfind("device:");
    return at == std::string::npos ? device.name : device.name.substr(at + 7);
  }
  return fmt::format("GPU:{}", id);
}

}  // namespace lanescope::traces
