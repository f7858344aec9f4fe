#include "gui/activity_origins.h"

#include <algorithm>

namespace lanescope::gui {

std::vector<BulkColumn> Origins::Wanted() {
  return {
      {"globalPid", true}, {"correlationId", true}, {"graphNodeId"}, {"commandId"}, {"schedule"}, {"step"}};
}

Origins::Origins(const std::vector<RunFrame>& frames) : frames_(frames) {
  for (size_t i = 0; i < frames.size(); ++i) run_of_[frames[i].data.id] = static_cast<int>(i);
}

void Origins::Begin(int parts) { parts_.assign(static_cast<size_t>(parts), {}); }

void Origins::Rows(int part, size_t rows, Columns columns) {
  Part& to = parts_[static_cast<size_t>(part)];
  for (size_t i = 0; i < rows; ++i) {
    const int run = RunOf(columns[0][i]);
    if (run < 0) continue;
    const int64_t step = OrElse(columns[5][i], -1);
    const Origin origin{
        frames_[static_cast<size_t>(run)].CommandIndex(OrElse(columns[4][i], -1), OrElse(columns[3][i], -1)),
        FitsInt(step) ? static_cast<int32_t>(step) : -1};
    if (columns[2][i] == kBulkNull) {
      to.plain.emplace_back(columns[1][i], origin);
    } else {
      to.graphs.emplace_back(std::pair(columns[1][i], columns[2][i]), origin);
    }
  }
}

void Origins::Finish() {
  int64_t low = INT64_MAX, high = INT64_MIN;
  size_t count = 0;
  for (const Part& part : parts_) {
    count += part.plain.size();
    for (const auto& entry : part.plain) {
      low = std::min(low, entry.first);
      high = std::max(high, entry.first);
    }
    graphs_.insert(graphs_.end(), part.graphs.begin(), part.graphs.end());
  }
  std::sort(graphs_.begin(), graphs_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (count > 0 && static_cast<uint64_t>(high) - static_cast<uint64_t>(low) < 2 * count + 4096) {
    first_ = low;
    dense_.resize(static_cast<size_t>(high - low) + 1);
    for (Part& part : parts_) {
      for (const auto& [correlation, origin] : part.plain)
        dense_[static_cast<size_t>(correlation - low)] = origin;
      part = {};
    }
    return;
  }
  sparse_.reserve(count);
  for (Part& part : parts_) {
    sparse_.insert(sparse_.end(), part.plain.begin(), part.plain.end());
    part = {};
  }
  std::sort(sparse_.begin(), sparse_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

int Origins::RunOf(int64_t global_pid) const {
  if (frames_.size() == 1 && !frames_.front().ours) return 0;
  const auto found = run_of_.find(static_cast<int>(global_pid >> 48));
  return found == run_of_.end() ? -1 : found->second;
}

Origin Origins::Find(int64_t correlation, int64_t graph_node) const {
  if (correlation == kBulkNull) return {};
  if (graph_node != kBulkNull && !graphs_.empty()) {
    const auto key = std::pair(correlation, graph_node);
    const auto found =
        std::lower_bound(graphs_.begin(), graphs_.end(), key,
                         [](const auto& entry, const auto& value) { return entry.first < value; });
    if (found != graphs_.end() && found->first == key) return found->second;
  }
  if (!dense_.empty()) {
    const uint64_t index = static_cast<uint64_t>(correlation) - static_cast<uint64_t>(first_);
    return index < dense_.size() ? dense_[index] : Origin();
  }
  const auto found = std::lower_bound(sparse_.begin(), sparse_.end(), correlation,
                                      [](const auto& entry, int64_t value) { return entry.first < value; });
  return found != sparse_.end() && found->first == correlation ? found->second : Origin();
}

}  // namespace lanescope::gui
