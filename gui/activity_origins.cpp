#include "gui/activity_origins.h"

#include <algorithm>

namespace lanescope::gui {

Origins::Origins(const std::vector<RunFrame>& frames) : frames_(frames) {
  for (const RunFrame& frame : frames) {
    one_schedule_ = one_schedule_ && frame.commands.empty();
    has_gpus_ =
        has_gpus_ || !frame.ours || std::ranges::any_of(frame.data.devices, [](const RunDevice& device) {
          return device.kind != "host" && device.kind != "virtual";
        });
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    const int id = frames[i].data.id;
    if (id < 0 || id > UINT16_MAX) continue;  // no activity can name it
    if (run_of_.size() <= static_cast<size_t>(id)) run_of_.resize(static_cast<size_t>(id) + 1, -1);
    run_of_[static_cast<size_t>(id)] = static_cast<int>(i);
  }
}

std::vector<BulkColumn> Origins::Wanted() const {
  // A column costs time even where it holds nothing.
  return {{one_run() ? "" : "globalPid"},    {"correlationId", true},
          {has_gpus_ ? "graphNodeId" : ""},  {"commandId"},
          {one_schedule_ ? "" : "schedule"}, {"step"}};
}

void Origins::Begin(int parts) { parts_.assign(static_cast<size_t>(parts), {}); }

void Origins::Row(int part, Values values) {
  Part& to = parts_[static_cast<size_t>(part)];
  const int run = RunOf(values[0]);
  if (run < 0) return;
  const int64_t correlation = values[1], node = values[2], step = OrElse(values[5], -1);
  const int64_t schedule = one_schedule_ ? 0 : OrElse(values[4], -1);
  const Origin origin{frames_[static_cast<size_t>(run)].CommandIndex(schedule, OrElse(values[3], -1)),
                      FitsInt(step) ? static_cast<int32_t>(step) : -1};
  if (node != kBulkNull) {
    to.graphs.emplace_back(std::pair(correlation, node), origin);
    return;
  }
  to.plain.emplace_back(correlation, origin);
  to.low = std::min(to.low, correlation);
  to.high = std::max(to.high, correlation);
}

void Origins::Finish(int64_t activities) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  size_t count = 0;
  for (const Part& part : parts_) {
    count += part.plain.size();
    low = std::min(low, part.low);
    high = std::max(high, part.high);
    graphs_.insert(graphs_.end(), part.graphs.begin(), part.graphs.end());
  }
  // A capture on a GPU also notes commands whose kernels left no record, and has kernels of no command.
  complete_ = !has_gpus_ && static_cast<int64_t>(count) >= activities;
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
  if (frames_.size() == 1) return 0;
  const auto number = static_cast<uint16_t>(global_pid >> 48);
  return number < run_of_.size() ? run_of_[number] : -1;
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
