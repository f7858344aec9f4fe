// SPDX-License-Identifier: Apache-2.0
#include "gui/model/draw_arrows.h"

#include <algorithm>
#include <optional>

#include "gui/model/draw_rows.h"
#include "gui/model/selection.h"

namespace lanescope::gui {
namespace {

constexpr float kBandPx = 24;
constexpr size_t kMaxLaunches = 60;  // arrows from thread to stream cross all lanes between
constexpr double kFarPx = 1e6;       // keeps coordinates within what floats resolve

// Arrows of one run.
class ArrowDrawer {
 public:
  ArrowDrawer(const ShownRun& shown, const Layout& layout, const LaidRun& laid, const PixelScale& scale,
              const DrawOptions& options, DrawPlan* plan)
      : run_(*shown.data), key_(shown.key), scale_(scale), options_(options), plan_(plan) {
    lanes_.assign(run_.lanes.size(), nullptr);
    for (size_t i = 0; i < laid.num_lanes; ++i) {
      const LaidLane& lane = layout.lanes[laid.first_lane + i];
      lanes_[static_cast<size_t>(lane.lane)] = &lane;
    }
  }

  void DrawFlows(int lane, uint32_t slice, uint8_t flags) {
    for (const SliceRef& before : FlowPredecessors(run_, key_, lane, slice)) {
      Draw(before.lane, before.slice, lane, slice, flags);
    }
    for (const SliceRef& after : FlowSuccessors(run_, key_, lane, slice)) {
      Draw(lane, slice, after.lane, after.slice, flags);
    }
  }

  // Calls visit(lane, begin, end) with the visible slices of every row of copies that is laid out in sight.
  template <typename Visit>
  void ForEachVisibleCopyRow(Visit visit) const {
    const int64_t from = scale_.TimeAt(0), to = scale_.TimeAt(scale_.width()) + 1;
    for (const LaidLane* laid : lanes_) {
      if (laid == nullptr || !InSight(*laid)) continue;
      const Lane& lane = run_.lanes[static_cast<size_t>(laid->lane)];
      if (!IsCopyRole(lane.role)) continue;
      for (const SliceRow& row : lane.rows) {
        const RowSlices slices = SlicesOfRow(lane, row);
        const size_t first = FirstEndingAfter(slices.end, from), last = FirstStartingFrom(slices.start, to);
        if (first < last) visit(*laid, row, first, last);
      }
    }
  }

  // From the call that launched it to everything that is visible and laid out, where these are few enough to
  // be told apart.
  void DrawLaunches() {
    if (run_.calls.empty()) return;
    std::vector<SliceRef> seen;
    const int64_t from = scale_.TimeAt(0), to = scale_.TimeAt(scale_.width()) + 1;
    for (const LaidLane* laid : lanes_) {
      if (laid == nullptr || !InSight(*laid)) continue;
      const Lane& lane = run_.lanes[static_cast<size_t>(laid->lane)];
      if (lane.call.empty() || lane.role == LaneRole::kThread || lane.role == LaneRole::kLink) continue;
      for (const SliceRow& row : lane.rows) {
        const RowSlices slices = SlicesOfRow(lane, row);
        const size_t first = FirstEndingAfter(slices.end, from), last = FirstStartingFrom(slices.start, to);
        if (last > first + kMaxLaunches) return;
        for (size_t i = first; i < last; ++i)
          seen.push_back({key_, laid->lane, row.begin + static_cast<uint32_t>(i)});
        if (seen.size() > kMaxLaunches) return;
      }
    }
    for (const SliceRef& slice : seen) {
      const SliceRef call = LaunchOf(run_, key_, slice.lane, slice.slice);
      if (call.valid()) Draw(call.lane, call.slice, slice.lane, slice.slice, 0);
    }
  }

  void DrawBands() {
    for (const LaidLane* laid : lanes_) {
      if (laid == nullptr || !InSight(*laid)) continue;
      const Lane& lane = run_.lanes[static_cast<size_t>(laid->lane)];
      if (!IsCopyRole(lane.role)) continue;
      for (float x = 0; x < static_cast<float>(scale_.width()); x += kBandPx) {
        const int64_t from = scale_.TimeAt(x), to = scale_.TimeAt(x + kBandPx);
        size_t starting = 0;
        for (const SliceRow& row : lane.rows) {
          const RowSlices slices = SlicesOfRow(lane, row);
          starting += FirstStartingFrom(slices.start, to) - FirstStartingFrom(slices.start, from);
        }
        if (starting == 0) continue;
        plan_->arrow_bands.push_back({x, std::min(x + kBandPx, static_cast<float>(scale_.width())),
                                      laid->top - options_.scroll_y, laid->bottom - options_.scroll_y,
                                      static_cast<int>(starting)});
      }
    }
  }

 private:
  bool InSight(const LaidLane& laid) const {
    return laid.bottom >= options_.scroll_y && laid.top <= options_.scroll_y + options_.height_px;
  }
  // Middle of a slice's row; empty where its lane or row is not laid out.
  std::optional<float> HeightOf(int lane, uint32_t slice) const {
    const LaidLane* laid = lanes_[static_cast<size_t>(lane)];
    if (laid == nullptr) return std::nullopt;
    const int row = run_.lanes[static_cast<size_t>(lane)].RowOf(slice);
    if (row >= laid->rows) return std::nullopt;
    return laid->top + laid->row_height * (static_cast<float>(row) + 0.5f) - options_.scroll_y;
  }
  float PixelOf(int64_t time) const {
    return static_cast<float>(std::clamp(scale_.ToPixel(time), -kFarPx, kFarPx));
  }
  void Draw(int from_lane, uint32_t from, int to_lane, uint32_t to, uint8_t flags) {
    const auto y0 = HeightOf(from_lane, from), y1 = HeightOf(to_lane, to);
    if (!y0.has_value() || !y1.has_value()) return;
    const int64_t start = run_.lanes[static_cast<size_t>(to_lane)].start_ns[to];
    // A call may go on when what it launched runs already.
    const float x0 = PixelOf(std::min(run_.lanes[static_cast<size_t>(from_lane)].end_ns[from], start));
    const float x1 = PixelOf(start);
    const auto width = static_cast<float>(scale_.width());
    if (std::max(x0, x1) < 0 || std::min(x0, x1) > width) return;
    plan_->arrows.push_back({x0, *y0, x1, *y1, flags});
  }

  const RunData& run_;
  RunKey key_;
  const PixelScale& scale_;
  const DrawOptions& options_;
  DrawPlan* plan_;
  std::vector<const LaidLane*> lanes_;  // by lane; null: not laid out
};

}  // namespace

void DrawArrows(const Timeline& timeline, const Layout& layout, const std::vector<RunAxis>& axes,
                const ViewTransform& view, const Highlight& highlight, const DrawOptions& options,
                DrawPlan* plan) {
  const auto for_each_run = [&](auto visit) {
    for (const LaidRun& laid : layout.runs) {
      if (laid.collapsed || static_cast<size_t>(laid.run) >= axes.size()) continue;
      if (laid.bottom < options.scroll_y || laid.top > options.scroll_y + options.height_px) continue;
      const ShownRun& shown = timeline.runs()[static_cast<size_t>(laid.run)];
      const PixelScale scale(axes[static_cast<size_t>(laid.run)], view);
      ArrowDrawer drawer(shown, layout, laid, scale, options, plan);
      visit(shown, drawer);
    }
  };
  for_each_run([&](const ShownRun& shown, ArrowDrawer& drawer) {
    if (shown.data->commands.empty()) return;
    drawer.ForEachVisibleCopyRow([&](const LaidLane&, const SliceRow&, size_t first, size_t last) {
      plan->visible_arrows += 2 * static_cast<int64_t>(last - first);
    });
  });
  const bool few = plan->visible_arrows <= options.max_arrows;
  for_each_run([&](const ShownRun& shown, ArrowDrawer& drawer) {
    if (!few) {
      drawer.DrawBands();
    } else if (!shown.data->commands.empty()) {
      drawer.ForEachVisibleCopyRow([&](const LaidLane& laid, const SliceRow& row, size_t first, size_t last) {
        for (size_t i = first; i < last; ++i)
          drawer.DrawFlows(laid.lane, row.begin + static_cast<uint32_t>(i), 0);
      });
    }
    drawer.DrawLaunches();
    if (highlight.slice.run == shown.key && highlight.slice.valid()) {
      drawer.DrawFlows(highlight.slice.lane, highlight.slice.slice, kSelected);
    }
  });
}

}  // namespace lanescope::gui
