// SPDX-License-Identifier: Apache-2.0
#include "gui/model/view_transform.h"

#include <algorithm>
#include <cmath>

namespace lanescope::gui {
namespace {

constexpr double kMinSpanNs = 10;
constexpr size_t kMaxUndo = 100;

// Where a run begins for alignment: its first step, else its first slice.
int64_t StartOf(const RunData& run) { return run.steps.empty() ? run.begin_ns : run.steps.front().start_ns; }

// First start of an op in the median step (in the run, where there are no steps or the op is not in that
// one).
bool OpStart(const RunData& run, int op, int64_t* start) {
  const int median = run.MedianStep();
  const int number = median < 0 ? -1 : run.steps[static_cast<size_t>(median)].number;
  bool found = false, found_in_step = false;
  for (const Lane& lane : run.lanes) {
    if (lane.role == LaneRole::kLink) continue;
    for (size_t i = 0; i < lane.size(); ++i) {
      if (lane.op[i] != op) continue;
      const bool in_step = number >= 0 && lane.step[i] == number;
      if (in_step < found_in_step) continue;
      if (!found || in_step > found_in_step || lane.start_ns[i] < *start) *start = lane.start_ns[i];
      found = true;
      found_in_step = in_step;
    }
  }
  return found;
}

}  // namespace

int64_t RunAxis::ToTime(double axis) const {
  const double offset = std::floor(axis / scale);
  if (!(offset > -9.2e18)) return INT64_MIN;
  if (!(offset < 9.2e18)) return INT64_MAX;
  int64_t time = 0;
  if (__builtin_add_overflow(origin_ns, static_cast<int64_t>(offset), &time)) {
    return offset < 0 ? INT64_MIN : INT64_MAX;
  }
  return time;
}

std::vector<RunAxis> AlignRuns(const Timeline& timeline, Alignment alignment, OpIdentity op) {
  std::vector<RunAxis> axes;
  const ShownRun* baseline = timeline.Find(timeline.baseline());
  for (const ShownRun& run : timeline.runs()) {
    RunAxis axis{StartOf(*run.data), 1};
    if (alignment == Alignment::kOp) {
      const int local = timeline.OpIn(run, op);
      if (local >= 0) OpStart(*run.data, local, &axis.origin_ns);
    }
    if (alignment == Alignment::kNormalised && baseline != nullptr && run.data->step_ns > 0 &&
        baseline->data->step_ns > 0) {
      axis.scale = static_cast<double>(baseline->data->step_ns) / static_cast<double>(run.data->step_ns);
    }
    axes.push_back(axis);
  }
  return axes;
}

std::pair<double, double> AxisExtent(const Timeline& timeline, const std::vector<RunAxis>& axes) {
  bool any = false;
  double begin = 0, end = 1;
  for (size_t i = 0; i < timeline.runs().size() && i < axes.size(); ++i) {
    const RunData& run = *timeline.runs()[i].data;
    if (run.end_ns <= run.begin_ns) continue;
    const double from = axes[i].ToAxis(run.begin_ns), to = axes[i].ToAxis(run.end_ns);
    begin = any ? std::min(begin, from) : from;
    end = any ? std::max(end, to) : to;
    any = true;
  }
  return {begin, end};
}

void ViewTransform::SetWidth(double pixels) { width_px_ = std::max(1.0, pixels); }

void ViewTransform::SetExtent(double begin, double end) {
  extent_begin_ = begin;
  extent_end_ = std::max(end, begin + kMinSpanNs);
}

void ViewTransform::Set(double begin, double end) {
  const double extent = extent_end_ - extent_begin_;
  const double span = std::clamp(end - begin, kMinSpanNs, 2 * extent);
  if (span != end - begin) {
    const double center = (begin + end) / 2;
    begin = center - span / 2;
  }
  // Half a width stays reachable beyond either end.
  const double low = extent_begin_ - span / 2, high = extent_end_ + span / 2 - span;
  begin = std::clamp(begin, low, std::max(low, high));
  begin_ = begin;
  end_ = begin + span;
}

void ViewTransform::ZoomAt(double pixel, double factor) {
  if (!(factor > 0) || !std::isfinite(factor)) return;
  const double extent = extent_end_ - extent_begin_;
  const double at = ToAxis(pixel);
  const double span = std::clamp((end_ - begin_) / factor, kMinSpanNs, 2 * extent);
  const double begin = at - pixel / width_px_ * span;
  Set(begin, begin + span);
}

void ViewTransform::PanPixels(double pixels) {
  const double by = pixels * ns_per_px();
  Set(begin_ + by, end_ + by);
}

void ViewTransform::Push() {
  if (!undo_.empty() && undo_.back() == std::pair(begin_, end_)) return;
  undo_.emplace_back(begin_, end_);
  if (undo_.size() > kMaxUndo) undo_.erase(undo_.begin());
}

void ViewTransform::BeginGesture() { Push(); }

void ViewTransform::Show(double begin, double end) {
  Push();
  Set(std::min(begin, end), std::max(begin, end));
}

void ViewTransform::Focus(double begin, double end) {
  const double span = std::max(std::abs(end - begin), kMinSpanNs);
  Show(std::min(begin, end) - span / 10, std::min(begin, end) + span + span / 10);
}

void ViewTransform::Fit() {
  const double margin = (extent_end_ - extent_begin_) * 0.01;
  Show(extent_begin_ - margin, extent_end_ + margin);
}

void ViewTransform::Undo() {
  // A gesture that moved nothing left an entry equal to the view.
  while (!undo_.empty()) {
    const auto [begin, end] = undo_.back();
    undo_.pop_back();
    if (begin == begin_ && end == end_) continue;
    begin_ = begin;
    end_ = end;
    return;
  }
}

}  // namespace lanescope::gui
