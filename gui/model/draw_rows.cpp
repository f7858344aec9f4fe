// SPDX-License-Identifier: Apache-2.0
#include "gui/model/draw_rows.h"

#include <algorithm>
#include <cmath>

namespace lanescope::gui {
namespace {

// Beyond so many slices a pixel, rows are drawn as columns; beyond so many more, without touching each slice.
constexpr double kMaxSlicesPerPixel = 2, kMaxTouchedPerPixel = 24;
constexpr double kNoPixel = -1e300;
// Space on either side of a label.
constexpr float kLabelPadding = 3;

// Draws one row, one way or another.
class RowDrawer {
 public:
  RowDrawer(const LaneDrawing& drawing, int row, DrawPlan::Part* part)
      : d_(drawing),
        part_(part),
        row_(drawing.lane.rows[static_cast<size_t>(row)]),
        slices_(SlicesOfRow(drawing.lane, row_)),
        y0_(drawing.laid.top + drawing.laid.row_height * static_cast<float>(row) - drawing.scroll),
        y1_(y0_ + drawing.laid.row_height) {
    y1_ -= std::min(1.0f, drawing.laid.row_height / 8);
    const auto own = [&](const SliceRef& slice, int lane) { return slice.lane < lane; };
    const auto& critical = drawing.paint.critical;
    const auto first = std::lower_bound(critical.begin(), critical.end(), drawing.laid.lane, own);
    const auto last = std::lower_bound(critical.begin(), critical.end(), drawing.laid.lane + 1, own);
    critical_ =
        critical.subspan(static_cast<size_t>(first - critical.begin()), static_cast<size_t>(last - first));
  }

  void Draw() {
    if (slices_.start.empty()) return;
    const int64_t from = d_.scale.TimeAt(0), to = d_.scale.TimeAt(d_.scale.width()) + 1;
    first_ = FirstEndingAfter(slices_.end, from);
    // A slice of no length at the very edge.
    while (first_ > 0 && slices_.end[first_ - 1] == from && slices_.start[first_ - 1] == from) --first_;
    last_ = FirstStartingFrom(slices_.start, to);
    if (first_ >= last_) return;
    const auto visible = static_cast<double>(last_ - first_);
    if (visible <= kMaxSlicesPerPixel * d_.scale.width()) {
      DrawSlices();
      return;
    }
    if (row_.summary.has_bins() && d_.scale.ns_per_px() >= row_.summary.bin_ns()) {
      DrawColumns([this](double x) {
        return row_.summary.FromBins(d_.scale.ExactTime(x), d_.scale.ExactTime(x + 1));
      });
    } else if (visible <= kMaxTouchedPerPixel * d_.scale.width()) {
      next_ = first_;
      DrawColumns([this](double x) { return NextColumn(x); });
    } else {
      DrawColumns([this](double x) {
        return row_.summary.Exact(slices_, d_.scale.TimeAt(x), d_.scale.TimeAt(x + 1));
      });
    }
    DrawLongSlices();
    DrawSpecialSlices();
  }

 private:
  // The summary of pixel `x` as Exact makes it, in one pass over the slices: pixels come from left to right.
  RangeSummary NextColumn(double x) {
    const int64_t from = d_.scale.TimeAt(x), to = d_.scale.TimeAt(x + 1);
    RangeSummary summary;
    int64_t busy = 0, longest = -1;
    while (next_ < last_ && slices_.end[next_] <= from) ++next_;
    for (size_t i = next_; i < last_ && slices_.start[i] < to; ++i) {
      const int64_t covered = std::min(slices_.end[i], to) - std::max(slices_.start[i], from);
      busy += covered;
      if (covered > longest) {
        longest = covered;
        summary.op = slices_.op[i];
      }
      next_ = i;
    }
    summary.busy_ns = static_cast<double>(busy);
    return summary;
  }

  uint8_t FlagsOf(size_t i) const {
    const int32_t op = slices_.op[i];
    uint8_t flags = op >= 0 ? d_.paint.flags[static_cast<size_t>(op)] : uint8_t{0};
    const uint32_t number = slices_.first + static_cast<uint32_t>(i);
    const SliceRef& selected = d_.highlight.slice;
    if (selected.slice == number && selected.lane == d_.laid.lane && selected.run == d_.laid.key)
      flags |= kSelected;
    if (IsCritical(number)) flags |= kOnCriticalPath;
    if (d_.highlight.step >= 0 && d_.lane.step[number] != d_.highlight.step) flags |= kOutsideStep;
    return flags;
  }
  bool IsCritical(uint32_t number) const {
    if (critical_.empty()) return false;
    const auto found =
        std::lower_bound(critical_.begin(), critical_.end(), number,
                         [](const SliceRef& slice, uint32_t value) { return slice.slice < value; });
    return found != critical_.end() && found->slice == number;
  }
  ColorKey ColorOfOp(int32_t op) const {
    if (d_.options.color == ColorMode::kError) {
      return op >= 0 ? d_.paint.color[static_cast<size_t>(op)] : kUnknownError;
    }
    if (d_.options.color == ColorMode::kOp || d_.options.color == ColorMode::kRange) {
      return op >= 0 ? d_.paint.color[static_cast<size_t>(op)] : 0;
    }
    return lane_color_;
  }
  ColorKey ColorOfSlice(size_t i) const {
    if (d_.options.color == ColorMode::kKind && d_.lane.is_copy()) {
      return ColorOf(*d_.paint.shown->data, d_.lane, slices_.first + static_cast<uint32_t>(i),
                     ColorMode::kKind);
    }
    if (d_.options.color == ColorMode::kRange)
      return RangeKey(*d_.paint.shown->data, d_.lane, slices_.first + static_cast<uint32_t>(i));
    return ColorOfOp(slices_.op[i]);
  }

  DrawSlice MakeSlice(size_t i, double x0, double x1) const {
    DrawSlice slice;
    slice.x0 = static_cast<float>(std::clamp(x0, 0.0, d_.scale.width() - 1));
    slice.x1 = static_cast<float>(std::clamp(x1, static_cast<double>(slice.x0) + 1, d_.scale.width()));
    slice.y0 = y0_;
    slice.y1 = y1_;
    slice.color = ColorOfSlice(i);
    slice.flags = FlagsOf(i);
    slice.slice = {d_.laid.key, d_.laid.lane, slices_.first + static_cast<uint32_t>(i)};
    return slice;
  }

  // One rectangle a slice; those narrower than a pixel are joined within their pixel.
  void DrawSlices() {
    double group_pixel = kNoPixel;
    int64_t group_longest = -1;
    for (size_t i = first_; i < last_; ++i) {
      const double x0 = d_.scale.ToPixel(slices_.start[i]), x1 = d_.scale.ToPixel(slices_.end[i]);
      if (x0 >= d_.scale.width() || x1 < 0) continue;
      const double pixel = std::floor(x0);
      const int64_t length = slices_.end[i] - slices_.start[i];
      if (x1 - x0 < 1 && pixel == group_pixel) {
        DrawSlice& group = part_->slices.back();
        const uint8_t flags = group.flags | FlagsOf(i);
        if (length > group_longest) {
          const float left = group.x0;
          group = MakeSlice(i, x0, x1);
          group.x0 = left;
          group_longest = length;
        }
        group.flags = flags;
        group.merged = true;
        continue;
      }
      part_->slices.push_back(MakeSlice(i, x0, x1));
      group_pixel = x1 - x0 < 1 ? pixel : kNoPixel;
      group_longest = length;
      if (x1 - x0 >= 1) AddLabel(i, part_->slices.back());
    }
  }

  float LeastLabel() const {
    return d_.options.glyph_px * static_cast<float>(d_.options.min_label_glyphs) + 2 * kLabelPadding;
  }

  // Over columns, those that have room for their name. Looks at points so close that none is missed.
  void DrawLongSlices() {
    const double least = LeastLabel(), width = d_.scale.width();
    for (double x = 0; x < width;) {
      const size_t i = FirstEndingAfter(slices_.end, d_.scale.TimeAt(x));
      if (i >= last_) return;
      const double x0 = d_.scale.ToPixel(slices_.start[i]), x1 = d_.scale.ToPixel(slices_.end[i]);
      if (std::min(x1, width) - std::max(x0, 0.0) >= least && x0 <= x) {
        part_->slices.push_back(MakeSlice(i, x0, x1));
        AddLabel(i, part_->slices.back());
        x = x1;
      } else {
        x += std::max(1.0, least / 2);
      }
    }
  }

  void AddLabel(size_t i, const DrawSlice& slice) {
    const int32_t op = slices_.op[i];
    if (op < 0) return;
    const float room = slice.x1 - slice.x0 - 2 * kLabelPadding;
    if (slice.x1 - slice.x0 < LeastLabel()) return;
    const OpEntry& entry = d_.paint.shown->data->ops[static_cast<size_t>(op)];
    std::string_view text = d_.options.label_op || entry.name.empty() ? entry.op : entry.name;
    const auto glyphs = static_cast<size_t>(room / d_.options.glyph_px);
    // The end of a path says more than its beginning.
    if (text.size() > glyphs && entry.node >= 0) {
      const size_t slash = text.rfind('/');
      if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
    }
    DrawLabel label{
        slice.x0 + kLabelPadding, slice.x1 - kLabelPadding, y0_, y1_, text, slice.flags, slice.color};
    part_->labels.push_back(label);
  }

  template <typename Summarise>
  void DrawColumns(Summarise summarise) {
    const double width = d_.scale.width();
    const double left = std::max(0.0, std::floor(d_.scale.ToPixel(slices_.start[first_])));
    const double right = std::min(width, std::ceil(d_.scale.ToPixel(slices_.end[last_ - 1])));
    DrawRow row{static_cast<float>(left),
                y0_,
                y1_,
                static_cast<uint32_t>(part_->columns.size()),
                0,
                d_.laid.key,
                d_.laid.lane};
    const double px = d_.scale.ns_per_px();
    for (double x = left; x < right; ++x) {
      const RangeSummary summary = summarise(x);
      DrawColumn column;
      column.busy = static_cast<float>(std::clamp(summary.busy_ns / px, 0.0, 1.0));
      column.op = summary.op;
      if (column.busy > 0) column.color = ColorOfOp(summary.op);
      if (summary.op >= 0) column.flags = d_.paint.flags[static_cast<size_t>(summary.op)];
      part_->columns.push_back(column);
    }
    row.count = static_cast<uint32_t>(part_->columns.size()) - row.first;
    if (row.count > 0) part_->rows.push_back(row);
  }

  // Slices that must be seen over columns: the selected slice and the critical path.
  void DrawSpecialSlices() {
    const auto draw = [&](uint32_t number) {
      if (number < slices_.first + first_ || number >= slices_.first + last_) return;
      const size_t i = number - slices_.first;
      part_->slices.push_back(
          MakeSlice(i, d_.scale.ToPixel(slices_.start[i]), d_.scale.ToPixel(slices_.end[i])));
    };
    for (const SliceRef& slice : critical_) draw(slice.slice);
    const SliceRef& selected = d_.highlight.slice;
    if (selected.run == d_.laid.key && selected.lane == d_.laid.lane) draw(selected.slice);
  }

  const LaneDrawing& d_;
  DrawPlan::Part* part_;
  const SliceRow& row_;
  const RowSlices slices_;
  float y0_, y1_;
  std::span<const SliceRef> critical_;
  ColorKey lane_color_ = ColorOf(*d_.paint.shown->data, d_.lane, kNoSlice, d_.options.color);
  size_t first_ = 0, last_ = 0;
  size_t next_ = 0;  // of NextColumn
};

void DrawCounterLane(const LaneDrawing& d, DrawPlan::Part* part) {
  const Lane& lane = d.lane;
  if (lane.counter_time_ns.empty()) return;
  const RunData& run = *d.paint.shown->data;
  const int64_t limit = lane.device >= 0 ? run.devices[static_cast<size_t>(lane.device)].memory_limit : 0;
  const int64_t peak =
      std::max<int64_t>(1, *std::max_element(lane.counter_value.begin(), lane.counter_value.end()));
  DrawCounter counter{0, d.laid.top - d.scroll, d.laid.bottom - d.scroll, 0, 0, d.laid.key, d.laid.lane, 1,
                      -1};
  counter.in_bytes = lane.role == LaneRole::kMemory;
  // The limit is in the picture unless the values would be a line at its foot.
  const bool show_limit = limit > 0 && static_cast<double>(peak) > 0.2 * static_cast<double>(limit);
  counter.scale_bytes = 1.08 * static_cast<double>(show_limit ? std::max(limit, peak) : peak);
  if (show_limit) {
    const double share = static_cast<double>(limit) / counter.scale_bytes;
    counter.limit_y = counter.y1 - static_cast<float>(share) * (counter.y1 - counter.y0);
  }
  const double left = std::max(0.0, std::floor(d.scale.ToPixel(lane.counter_time_ns.front())));
  const double right = std::min(
      d.scale.width(), std::ceil(d.scale.ToPixel(std::max(run.end_ns, lane.counter_time_ns.back()))));
  counter.x0 = static_cast<float>(left);
  counter.first = static_cast<uint32_t>(part->counter_columns.size());
  for (double x = left; x < right; ++x) {
    const int64_t from = d.scale.TimeAt(x), to = std::max(from + 1, d.scale.TimeAt(x + 1));
    const CounterRange range = lane.counter.Range(lane.counter_time_ns, lane.counter_value, from, to);
    DrawCounterColumn column;
    column.any = range.any;
    column.low = static_cast<float>(static_cast<double>(range.low) / counter.scale_bytes);
    column.high = static_cast<float>(static_cast<double>(range.high) / counter.scale_bytes);
    column.over_limit = limit > 0 && range.high > limit;
    part->counter_columns.push_back(column);
  }
  counter.count = static_cast<uint32_t>(part->counter_columns.size()) - counter.first;
  if (counter.count > 0) part->counters.push_back(counter);
}

}  // namespace

RowSlices SlicesOfRow(const Lane& lane, const SliceRow& row) {
  const size_t begin = row.begin, size = row.end - row.begin;
  return {std::span(lane.start_ns).subspan(begin, size), std::span(lane.end_ns).subspan(begin, size),
          std::span(lane.op).subspan(begin, size), row.begin};
}

RangeSummary SummaryAt(const Lane& lane, const SliceRow& row, const PixelScale& scale, double x) {
  if (row.summary.has_bins() && scale.ns_per_px() >= row.summary.bin_ns()) {
    return row.summary.FromBins(scale.ExactTime(x), scale.ExactTime(x + 1));
  }
  return row.summary.Exact(SlicesOfRow(lane, row), scale.TimeAt(x), scale.TimeAt(x + 1));
}

RunPaint PaintRun(const Timeline& timeline, int run, const Highlight& highlight, const DrawOptions& options) {
  RunPaint paint;
  paint.run = run;
  paint.shown = &timeline.runs()[static_cast<size_t>(run)];
  const RunData& data = *paint.shown->data;
  const auto index = static_cast<size_t>(run);
  paint.flags.assign(data.ops.size(), 0);
  paint.color.resize(data.ops.size(), kUnknownError);
  const auto light = [&](OpIdentity identity) {
    const int op = timeline.OpIn(*paint.shown, identity);
    if (op >= 0) paint.flags[static_cast<size_t>(op)] |= kSameOp;
  };
  light(highlight.op);
  if (highlight.ops != nullptr) {
    for (const OpIdentity identity : *highlight.ops) light(identity);
  }
  if (highlight.search_hits != nullptr && index < highlight.search_hits->size()) {
    const std::vector<char>& hits = (*highlight.search_hits)[index];
    for (size_t i = 0; i < std::min(hits.size(), paint.flags.size()); ++i) {
      if (hits[i]) paint.flags[i] |= kSearchHit;
    }
  }
  if (options.color == ColorMode::kOp) {
    for (size_t i = 0; i < data.ops.size(); ++i) paint.color[i] = data.ops[i].color;
  } else if (options.color == ColorMode::kRange) {
    for (size_t i = 0; i < data.ops.size(); ++i) paint.color[i] = data.ops[i].range;
  } else if (highlight.errors != nullptr && index < highlight.errors->size()) {
    const std::vector<uint8_t>& errors = (*highlight.errors)[index];
    for (size_t i = 0; i < std::min(errors.size(), paint.color.size()); ++i) paint.color[i] = errors[i];
  }
  if (highlight.critical != nullptr && index < highlight.critical->size())
    paint.critical = (*highlight.critical)[index];
  return paint;
}

void DrawLane(const LaneDrawing& drawing, DrawPlan::Part* part) {
  if (drawing.lane.is_counter()) {
    DrawCounterLane(drawing, part);
    return;
  }
  const int rows = std::min(drawing.laid.rows, static_cast<int>(drawing.lane.rows.size()));
  for (int row = 0; row < rows; ++row) RowDrawer(drawing, row, part).Draw();
}

}  // namespace lanescope::gui
