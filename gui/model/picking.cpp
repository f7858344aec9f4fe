// SPDX-License-Identifier: Apache-2.0
#include "gui/model/picking.h"

#include <algorithm>
#include <cmath>

#include "gui/model/draw_rows.h"

namespace lanescope::gui {
namespace {

// Index into the row of the slice under the pixel; size when there is none.
size_t PickInRow(const RowSlices& slices, const PixelScale& scale, double x) {
  const size_t none = slices.start.size();
  const double left = std::floor(x);
  const int64_t center = scale.TimeAt(left + 0.5);
  const size_t at = FirstEndingAfter(slices.end, center);
  if (at < none && slices.start[at] <= center) return at;
  // Nothing at the centre: what covers most of the pixel, else a narrow one drawn here.
  size_t best = none;
  double best_covered = -1;
  for (size_t i = FirstEndingAfter(slices.end, scale.TimeAt(left) - 1); i < none; ++i) {
    const double x0 = scale.ToPixel(slices.start[i]), x1 = scale.ToPixel(slices.end[i]);
    if (x0 >= left + 1) break;
    const double covered = std::min(x1, left + 1) - std::max(x0, left);
    if (covered <= best_covered || x1 < left) continue;
    best_covered = covered;
    best = i;
  }
  if (best != none) return best;
  // A slice that ended in the pixel before is drawn a pixel wide and so reaches into this one.
  const size_t before = FirstStartingFrom(slices.start, scale.TimeAt(left));
  if (before > 0 && scale.ToPixel(slices.start[before - 1]) + 1 > x) return before - 1;
  return none;
}

int64_t CounterAt(const Lane& lane, int64_t time) {
  const auto after = std::upper_bound(lane.counter_time_ns.begin(), lane.counter_time_ns.end(), time);
  if (after == lane.counter_time_ns.begin()) return 0;
  return lane.counter_value[static_cast<size_t>(after - lane.counter_time_ns.begin()) - 1];
}

}  // namespace

Hit Pick(const Timeline& timeline, const Layout& layout, const std::vector<RunAxis>& axes,
         const ViewTransform& view, float x, float y, bool in_pinned) {
  Hit hit;
  const LaidLane* laid = layout.LaneAt(y, in_pinned);
  if (laid == nullptr) {
    if (const LaidGroup* group = in_pinned ? nullptr : layout.GroupAt(y)) {
      hit.what = Hit::What::kGroupHeader;
      hit.run = group->key;
      hit.group = group->group;
      return hit;
    }
    const LaidRun* run = in_pinned ? nullptr : layout.RunAt(y);
    if (run == nullptr || y >= run->header_bottom) return hit;
    hit.what = Hit::What::kRunHeader;
    hit.run = run->key;
    return hit;
  }
  const PixelScale scale(axes[static_cast<size_t>(laid->run)], view);
  const RunData& run = *timeline.runs()[static_cast<size_t>(laid->run)].data;
  const Lane& lane = run.lanes[static_cast<size_t>(laid->lane)];
  hit.what = Hit::What::kLane;
  hit.run = laid->key;
  hit.lane = laid->lane;
  hit.time_ns = scale.TimeAt(std::floor(static_cast<double>(x)) + 0.5);
  if (lane.is_counter()) {
    hit.what = Hit::What::kCounter;
    hit.counter_value = CounterAt(lane, hit.time_ns);
    return hit;
  }
  const auto row = static_cast<size_t>((y - laid->top) / laid->row_height);
  if (row >= lane.rows.size()) return hit;
  const RowSlices slices = SlicesOfRow(lane, lane.rows[row]);
  const size_t found = PickInRow(slices, scale, x);
  if (found == slices.start.size()) return hit;
  hit.what = Hit::What::kSlice;
  hit.slice = {laid->key, laid->lane, slices.first + static_cast<uint32_t>(found)};
  return hit;
}

int DeviceAt(const Timeline& timeline, const Layout& layout, float y) {
  const LaidLane* laid = layout.LaneAt(y, false);
  if (laid == nullptr) return -1;
  const Lane& lane =
      timeline.runs()[static_cast<size_t>(laid->run)].data->lanes[static_cast<size_t>(laid->lane)];
  return lane.role == LaneRole::kLink ? -1 : lane.device;
}

}  // namespace lanescope::gui
