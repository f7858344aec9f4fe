// SPDX-License-Identifier: Apache-2.0
// From times of runs to pixels: every run is put on one relative axis, and the view shows a part of it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gui/model/timeline_data.h"

namespace lanescope::gui {

enum class Alignment {
  kStart,       // every run begins at 0: its first step, else its first slice
  kOp,          // the chosen op starts at 0 in every run that has it; others by start
  kNormalised,  // by start, and stretched so that all steps are as long as the baseline's
};

// Places one run on the shared axis: axis = (time - origin_ns) * scale. Axis units are ns. Exact for times
// within 2^53 ns (104 days) of the origin.
struct RunAxis {
  int64_t origin_ns = 0;
  double scale = 1;
  double ToAxis(int64_t time_ns) const { return static_cast<double>(time_ns - origin_ns) * scale; }
  // Rounded down; clamped to what an int64_t holds.
  int64_t ToTime(double axis) const;
  friend bool operator==(const RunAxis&, const RunAxis&) = default;
};

// By position in timeline.runs(). `op` is for kOp: its first start in the median step, where there are steps.
std::vector<RunAxis> AlignRuns(const Timeline& timeline, Alignment alignment, OpIdentity op = -1);

// Begin and end of everything on the shared axis; (0, 1) when there is nothing.
std::pair<double, double> AxisExtent(const Timeline& timeline, const std::vector<RunAxis>& axes);

// The visible part of the axis, with undo. Value type. Laws: ToPixel and ToAxis are inverse; ZoomAt keeps the
// axis position under the cursor; undo restores exactly.
class ViewTransform {
 public:
  double begin() const { return begin_; }
  double end() const { return end_; }
  double width_px() const { return width_px_; }
  double ns_per_px() const { return (end_ - begin_) / width_px_; }

  // Content width in pixels, at least 1. Keeps begin and end.
  void SetWidth(double pixels);
  // Limits of panning and zooming out: half a width beyond this on either side stays reachable.
  void SetExtent(double begin, double end);

  double ToPixel(double axis) const { return (axis - begin_) / ns_per_px(); }
  double ToAxis(double pixel) const { return begin_ + pixel * ns_per_px(); }

  // These two are continuous (wheel, drag) and make one undo entry per gesture: call BeginGesture first.
  // factor > 1 zooms in. At least 10 ns stay visible.
  void ZoomAt(double pixel, double factor);
  void PanPixels(double pixels);
  void BeginGesture();

  // Jumps: an undo entry each.
  void Show(double begin, double end);   // exactly this range
  void Focus(double begin, double end);  // with a margin of a tenth on either side
  void Fit();                            // the extent

  bool CanUndo() const { return !undo_.empty(); }
  // Restores the view before the last change.
  void Undo();
  friend bool operator==(const ViewTransform&, const ViewTransform&) = default;

 private:
  void Push();
  void Set(double begin, double end);

  double begin_ = 0, end_ = 1;
  double extent_begin_ = 0, extent_end_ = 1;
  double width_px_ = 1;
  std::vector<std::pair<double, double>> undo_;  // at most 100
};

}  // namespace lanescope::gui
