// SPDX-License-Identifier: Apache-2.0
#include "traces/read/activity_origins.h"

#include <algorithm>

#include "traces/store/lanescope_tables.h"

namespace lanescope::traces {
namespace {

template <typename Entries, typename Key>
Origin FindSorted(const Entries& entries, const Key& key) {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), key,
                       [](const auto& entry, const Key& value) { return entry.first < value; });
  return found != entries.end() && found->first == key ? found->second : Origin();
}

template <typename Entries>
void SortByKey(Entries* entries) {
  std::stable_sort(entries->begin(), entries->end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

}  // namespace

RunFilter::RunFilter(const std::vector<WantedRun>& runs, bool only) : only_(only) {
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].id < 0 || runs[i].id > UINT16_MAX) continue;  // no activity can name it
    const auto number = static_cast<size_t>(runs[i].id);
    if (by_number_.size() <= number) by_number_.resize(number + 1, -1);
    by_number_[number] = static_cast<int>(i);
  }
}

Origins::Origins(ParallelReader* reader, const RunFilter& runs, const CommandIndex& index,
                 const Columns& columns, const ReadWatch& watch) {
  constexpr const auto& from = tables::kActivity;
  std::vector<Part> parts;
  reader->Read(
      from,
      {{from.global_pid, !runs.only()},
       from.correlation,
       {from.graph_node, columns.graph_nodes},
       from.command,
       {from.schedule, columns.schedules},
       from.step},
      watch, [&](int count) { parts.resize(static_cast<size_t>(count)); },
      [&](Stretch stretch, const auto& row) {
        const int run = runs.Of(row[from.global_pid].value_or(0));
        const std::optional<int64_t> correlation = row[from.correlation];
        if (run < 0 || !correlation) return;
        Part& to = parts[static_cast<size_t>(stretch.part)];
        const int schedule = columns.schedules ? row[from.schedule] : 0;
        const Origin origin{index(run, schedule, row[from.command]), row[from.step]};
        if (const std::optional<int64_t> node = row[from.graph_node]) {
          to.graphs.emplace_back(GraphNode(*correlation, *node), origin);
          return;
        }
        to.plain.emplace_back(*correlation, origin);
        to.low = std::min(to.low, *correlation);
        to.high = std::max(to.high, *correlation);
      });
  Join(&parts);
}

void Origins::Join(std::vector<Part>* parts) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  size_t count = 0;
  for (const Part& part : *parts) {
    count += part.plain.size();
    low = std::min(low, part.low);
    high = std::max(high, part.high);
    graphs_.insert(graphs_.end(), part.graphs.begin(), part.graphs.end());
  }
  SortByKey(&graphs_);
  size_ = static_cast<int64_t>(count + graphs_.size());
  const bool dense = count > 0 && static_cast<uint64_t>(high) - static_cast<uint64_t>(low) < 2 * count + 4096;
  if (dense) {
    first_ = low;
    dense_.resize(static_cast<size_t>(high - low) + 1);
  } else {
    sparse_.reserve(count);
  }
  for (Part& part : *parts) {
    for (const auto& entry : part.plain) {
      if (dense) {
        dense_[static_cast<size_t>(entry.first - low)] = entry.second;
      } else {
        sparse_.push_back(entry);
      }
    }
    part = {};
  }
  SortByKey(&sparse_);
}

Origin Origins::Find(std::optional<int64_t> correlation, std::optional<int64_t> graph_node) const {
  if (!correlation) return {};
  if (graph_node) return FindSorted(graphs_, GraphNode(*correlation, *graph_node));
  if (dense_.empty()) return FindSorted(sparse_, *correlation);
  const uint64_t index = static_cast<uint64_t>(*correlation) - static_cast<uint64_t>(first_);
  return index < dense_.size() ? dense_[index] : Origin();
}

}  // namespace lanescope::traces
