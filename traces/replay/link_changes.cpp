// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "traces/read/collectives.h"
#include "traces/replay/change.h"

namespace lanescope::traces {
namespace {

// The part of a task that links between GPUs, or those of the host, must carry.
struct Carried {
  std::string kind;
  double bytes = 0;
};

std::optional<Carried> CarriedBy(const ReplayGraph& graph, const ReplayTask& task, bool of_host) {
  if (task.bytes <= 0 || task.ns <= 0 || task.name < 0) return std::nullopt;
  const std::string& name = graph.names[static_cast<size_t>(task.name)];
  const auto bytes = static_cast<double>(task.bytes);
  if (task.collective >= 0) {
    const std::string kind = CollectiveKind(name);
    const auto factor = BusFactor(kind, graph.ranks_of_collectives[static_cast<size_t>(task.collective)]);
    if (of_host || !factor || *factor <= 0) return std::nullopt;
    return Carried{kind, bytes * *factor};
  }
  if (!task.crosses) return std::nullopt;
  const bool host = name.find("HtoD") != std::string::npos || name.find("DtoH") != std::string::npos;
  return host == of_host ? std::optional(Carried{name, bytes}) : std::nullopt;
}

}  // namespace

int64_t SetLinkBandwidth(double bytes_per_second, bool of_host, ReplayGraph* graph) {
  const double ns_per_byte = 1e9 / bytes_per_second;
  std::map<std::string, double> least;  // ns per byte, by kind
  for (const ReplayTask& task : graph->tasks) {
    const auto carried = CarriedBy(*graph, task, of_host);
    if (!carried) continue;
    const double rate = static_cast<double>(task.ns) / carried->bytes;
    const auto [entry, is_new] = least.try_emplace(carried->kind, rate);
    if (!is_new) entry->second = std::min(entry->second, rate);
  }
  int64_t count = 0;
  for (ReplayTask& task : graph->tasks) {
    const auto carried = CarriedBy(*graph, task, of_host);
    if (!carried) continue;
    task.ns += std::llround(carried->bytes * (ns_per_byte - least.at(carried->kind)));
    ++count;
  }
  return count;
}

}  // namespace lanescope::traces
