// SPDX-License-Identifier: Apache-2.0
// The rows of one lane as rectangles and columns. Part of draw_plan.
#pragma once

#include <span>
#include <vector>

#include "gui/model/draw_plan.h"

namespace lanescope::gui {

// Pixels of one run, whose times are far larger than what is visible: everything is relative to the origin.
class PixelScale {
 public:
  PixelScale(const RunAxis& axis, const ViewTransform& view)
      : axis_(axis),
        begin_(view.begin() / axis.scale),
        ns_per_px_(view.ns_per_px() / axis.scale),
        width_(view.width_px()) {}
  double ns_per_px() const { return ns_per_px_; }
  double width() const { return width_; }
  double ToPixel(int64_t time_ns) const {
    return (static_cast<double>(time_ns - axis_.origin_ns) - begin_) / ns_per_px_;
  }
  // As a time of the run's clock.
  double ExactTime(double pixel) const {
    return static_cast<double>(axis_.origin_ns) + begin_ + pixel * ns_per_px_;
  }
  // Rounded down.
  int64_t TimeAt(double pixel) const {
    return RunAxis{axis_.origin_ns, 1}.ToTime(begin_ + pixel * ns_per_px_);
  }

 private:
  RunAxis axis_;
  double begin_, ns_per_px_, width_;
};

// Colours and flags of a run's ops, made once a frame.
struct RunPaint {
  int run = 0;  // position in the timeline
  const ShownRun* shown = nullptr;
  std::vector<ColorKey> color;  // by op; kOp, kRange and kError only
  std::vector<uint8_t> flags;   // by op
  std::span<const SliceRef> critical;
};
RunPaint PaintRun(const Timeline& timeline, int run, const Highlight& highlight, const DrawOptions& options);

struct LaneDrawing {
  const RunPaint& paint;
  const Lane& lane;
  const LaidLane& laid;
  const PixelScale& scale;
  const Highlight& highlight;
  const DrawOptions& options;
  float scroll = 0;
};
void DrawLane(const LaneDrawing& drawing, DrawPlan::Part* part);

RowSlices SlicesOfRow(const Lane& lane, const SliceRow& row);
// The slice that covers most of the pixel column at `x` of a row, and how much of it slices cover.
RangeSummary SummaryAt(const Lane& lane, const SliceRow& row, const PixelScale& scale, double x);

}  // namespace lanescope::gui
