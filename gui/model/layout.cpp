// SPDX-License-Identifier: Apache-2.0
#include "gui/model/layout.h"

#include <algorithm>

namespace lanescope::gui {
namespace {

bool IsEmpty(const Lane& lane) { return lane.size() == 0 && lane.counter_time_ns.empty(); }

bool IsShown(const RunData& run, const Lane& lane, LaneId id, const LaneVisibility& visibility) {
  if (visibility.hidden_lanes.count(id) > 0) return false;
  const bool idle_device = lane.role == LaneRole::kCompute && !run.foreign;
  if (IsEmpty(lane) && !idle_device && !visibility.show_empty_lanes) return false;
  const bool host = lane.device >= 0 && run.devices[static_cast<size_t>(lane.device)].is_host;
  if (host && lane.role != LaneRole::kLink && !visibility.show_host) return false;
  switch (lane.role) {
    case LaneRole::kLink:
      return visibility.show_links;
    case LaneRole::kCopyIn:
    case LaneRole::kCopyOut:
    case LaneRole::kCopyWithin:
      return visibility.show_copies;
    case LaneRole::kMemory:
      return visibility.show_memory;
    default:
      return true;
  }
}

LaidLane Place(const Lane& lane, int run, LaneId id, float top, const LayoutMetrics& metrics) {
  LaidLane laid{run, id.first, id.second, top, top, metrics.row, 1};
  if (lane.is_counter()) {
    laid.row_height = metrics.counter;
  } else {
    if (lane.is_copy()) laid.row_height = metrics.copy_row;
    laid.rows = std::clamp(static_cast<int>(lane.rows.size()), 1, std::max(1, metrics.max_rows));
  }
  laid.bottom = top + laid.row_height * static_cast<float>(laid.rows);
  return laid;
}

// Places the headers of groups as their first lanes come.
class GroupHeaders {
 public:
  GroupHeaders(const ShownRun& shown, int run, const LaneVisibility& visibility, const LayoutMetrics& metrics,
               Layout* layout)
      : shown_(shown), run_(run), visibility_(visibility), metrics_(metrics), layout_(*layout) {}

  // True: the lane is folded away.
  bool Enter(int group, float* y) {
    std::vector<int> path;  // innermost first
    for (int g = group; g >= 0; g = shown_.data->groups[static_cast<size_t>(g)].parent) path.push_back(g);
    bool folded = false;
    for (size_t i = path.size(); i-- > 0 && !folded;) {
      const int depth = static_cast<int>(path.size() - 1 - i);
      const auto open = std::find_if(
          layout_.groups.begin(), layout_.groups.end(),
          [&](const LaidGroup& laid) { return laid.key == shown_.key && laid.group == path[i]; });
      folded = visibility_.folded.contains({shown_.key, path[i]});
      if (open != layout_.groups.end()) {
        ++open->lanes;
        continue;
      }
      const float top = *y + metrics_.lane_gap;
      layout_.groups.push_back(
          {run_, shown_.key, path[i], top, top + metrics_.group_header, depth, folded, 1});
      *y = layout_.groups.back().bottom;
    }
    return folded;
  }

 private:
  const ShownRun& shown_;
  const int run_;
  const LaneVisibility& visibility_;
  const LayoutMetrics& metrics_;
  Layout& layout_;
};

}  // namespace

void Unfold(const RunData& run, RunKey key, int group, LaneVisibility* visibility) {
  for (int g = group; g >= 0; g = run.groups[static_cast<size_t>(g)].parent)
    visibility->folded.erase({key, g});
}

const LaidGroup* Layout::GroupAt(float y) const {
  for (const LaidGroup& group : groups) {
    if (y >= group.top && y < group.bottom) return &group;
  }
  return nullptr;
}

void LaneVisibility::TogglePin(LaneId lane) {
  const auto found = std::find(pinned.begin(), pinned.end(), lane);
  if (found == pinned.end()) {
    pinned.push_back(lane);
  } else {
    pinned.erase(found);
  }
}

bool LaneVisibility::IsPinned(LaneId lane) const {
  return std::find(pinned.begin(), pinned.end(), lane) != pinned.end();
}

const LaidLane* Layout::LaneAt(float y, bool in_pinned) const {
  const std::vector<LaidLane>& all = in_pinned ? pinned : lanes;
  const auto after = std::upper_bound(all.begin(), all.end(), y,
                                      [](float value, const LaidLane& lane) { return value < lane.top; });
  if (after == all.begin()) return nullptr;
  const LaidLane& lane = *(after - 1);
  return y < lane.bottom ? &lane : nullptr;
}

const LaidRun* Layout::RunAt(float y) const {
  for (const LaidRun& run : runs) {
    if (y >= run.top && y < run.bottom) return &run;
  }
  return nullptr;
}

const LaidLane* Layout::Find(RunKey run, int lane) const {
  for (const LaidLane& laid : lanes) {
    if (laid.key == run && laid.lane == lane) return &laid;
  }
  return nullptr;
}

Layout ComputeLayout(const Timeline& timeline, const LaneVisibility& visibility,
                     const LayoutMetrics& metrics) {
  Layout layout;
  float y = 0;
  for (size_t r = 0; r < timeline.runs().size(); ++r) {
    const ShownRun& shown = timeline.runs()[r];
    if (visibility.hidden_runs.count(shown.key) > 0) continue;
    LaidRun run;
    run.run = static_cast<int>(r);
    run.key = shown.key;
    run.top = y;
    run.header_bottom = y + metrics.run_header;
    run.collapsed = visibility.collapsed.count(shown.key) > 0;
    run.first_lane = layout.lanes.size();
    y = run.header_bottom;
    GroupHeaders headers(shown, run.run, visibility, metrics, &layout);
    for (size_t l = 0; l < shown.data->lanes.size() && !run.collapsed; ++l) {
      const Lane& lane = shown.data->lanes[l];
      const LaneId id(shown.key, static_cast<int>(l));
      if (!IsShown(*shown.data, lane, id, visibility) || headers.Enter(lane.group, &y)) continue;
      layout.lanes.push_back(Place(lane, run.run, id, y + metrics.lane_gap, metrics));
      y = layout.lanes.back().bottom;
    }
    run.num_lanes = layout.lanes.size() - run.first_lane;
    run.bottom = y + metrics.lane_gap;
    y = run.bottom + metrics.run_gap;
    layout.runs.push_back(run);
  }
  layout.height = y;
  float top = 0;
  for (const LaneId& id : visibility.pinned) {
    const int r = timeline.IndexOf(id.first);
    if (r < 0) continue;
    const RunData& run = *timeline.runs()[static_cast<size_t>(r)].data;
    if (id.second < 0 || static_cast<size_t>(id.second) >= run.lanes.size()) continue;
    const Lane& lane = run.lanes[static_cast<size_t>(id.second)];
    layout.pinned.push_back(Place(lane, r, id, top + metrics.lane_gap, metrics));
    top = layout.pinned.back().bottom;
  }
  layout.pinned_height = layout.pinned.empty() ? 0 : top + metrics.lane_gap;
  return layout;
}

}  // namespace lanescope::gui
