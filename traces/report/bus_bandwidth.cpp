// SPDX-License-Identifier: Apache-2.0
#include "traces/report/bus_bandwidth.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "traces/read/collectives.h"
#include "traces/read/trace_reader.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {

std::vector<CollectiveRow> FindCollectiveRows(const TraceRun& run) {
  std::map<int, const TraceCollective*> moved;  // by launch
  for (const TraceCollective& collective : run.collectives) moved.emplace(collective.launch, &collective);
  if (moved.empty()) return {};
  std::map<std::tuple<std::string, int64_t, int64_t, bool>, CollectiveRow> rows;
  const auto add = [&](const TraceCollective& collective, int64_t ns, bool waits) {
    const std::string kind = CollectiveKind(run.Text(collective.kind));
    CollectiveRow& row = rows[{kind, collective.ranks, collective.bytes, waits}];
    row.kind = kind;
    row.ranks = collective.ranks;
    row.bytes = collective.bytes;
    row.waits = waits;
    ++row.count;
    row.ns = AddSaturating(row.ns, ns);
  };
  const auto length = [&](int launch) {
    const TraceLaunch& part = run.launches[static_cast<size_t>(launch)];
    return part.end_ns - part.start_ns;
  };
  for (const Collective& collective : FindCollectives(run)) {
    const std::vector<int>& parts = collective.parts;
    const auto found = moved.find(parts.front());
    if (found == moved.end() || static_cast<int64_t>(parts.size()) != found->second->ranks) continue;
    int64_t shortest = INT64_MAX;
    for (const int part : parts) shortest = std::min(shortest, length(part));
    add(*found->second, shortest, false);
    for (const int part : parts) moved.erase(part);
  }
  for (const auto& [launch, collective] : moved) add(*collective, length(launch), collective->ranks != 1);
  std::vector<CollectiveRow> found;
  for (auto& [key, row] : rows) {
    if (row.ns > 0 && row.bytes > 0) {
      row.algorithm_bandwidth =
          static_cast<double>(row.bytes) * static_cast<double>(row.count) * 1e9 / static_cast<double>(row.ns);
      row.bus_bandwidth = row.algorithm_bandwidth * BusFactor(row.kind, row.ranks).value_or(0);
    }
    found.push_back(std::move(row));
  }
  std::ranges::stable_sort(found, [](const CollectiveRow& a, const CollectiveRow& b) { return a.ns > b.ns; });
  return found;
}

}  // namespace lanescope::traces
