// SPDX-License-Identifier: Apache-2.0
#include "gui/model/minimap.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "gui/model/draw_rows.h"

namespace lanescope::gui {
namespace {

// The pixels of one lane, row after row. A lane whose slices overlap has up to 65535 rows, most of which have
// nothing new to say of most pixels.
class LaneStrip {
 public:
  LaneStrip(const PixelScale& scale, size_t width)
      : scale_(scale), times_(width + 1), open_(width + 1), busy_(width), best_(width) {
    for (size_t x = 0; x <= width; ++x) times_[x] = scale.TimeAt(static_cast<double>(x));
    std::iota(open_.begin(), open_.end(), size_t{0});
  }

  void Add(const Lane& lane, const SliceRow& row) {
    if (row.summary.has_bins() && scale_.ns_per_px() >= row.summary.bin_ns()) {
      for (size_t x = 0; x < busy_.size(); ++x) Take(x, SummaryAt(lane, row, scale_, static_cast<double>(x)));
    } else {
      AddSlices(SlicesOfRow(lane, row));
    }
  }

  void AddTo(const RunData& run, std::vector<DrawColumn>* columns) const {
    for (size_t x = 0; x < busy_.size(); ++x) {
      DrawColumn& column = (*columns)[x];
      column.busy += static_cast<float>(std::min(1.0, busy_[x] / scale_.ns_per_px()));
      if (best_[x].op < 0) continue;
      column.op = best_[x].op;
      column.color = run.ops[static_cast<size_t>(best_[x].op)].color;
    }
  }

 private:
  void Take(size_t x, const RangeSummary& summary) {
    if (summary.busy_ns > best_[x].busy_ns) best_[x] = summary;
    busy_[x] += summary.busy_ns;
  }

  // From left to right; pixels that are busy all the time by one row and by all rows are passed over.
  void AddSlices(const RowSlices& row) {
    if (row.start.empty()) return;
    size_t i = 0;
    for (size_t x = NextOpen(PixelOf(row.start[0])); x < busy_.size();) {
      const int64_t from = times_[x], to = times_[x + 1];
      while (i < row.start.size() && row.end[i] <= from) ++i;
      if (i == row.start.size()) return;
      if (row.start[i] >= to) {
        x = NextOpen(std::max(x + 1, PixelOf(row.start[i])));
        continue;
      }
      Take(x, Covering(row, i, from, to));
      Close(x, to - from);
      x = NextOpen(x + 1);
    }
  }

  // The summary of the slices from `i` on, as RowSummary::Exact makes it.
  static RangeSummary Covering(const RowSlices& row, size_t i, int64_t from, int64_t to) {
    RangeSummary summary;
    int64_t busy = 0, longest = -1;
    for (; i < row.start.size() && row.start[i] < to; ++i) {
      const int64_t covered = std::min(row.end[i], to) - std::max(row.start[i], from);
      busy += covered;
      if (covered <= longest) continue;
      longest = covered;
      summary.op = row.op[i];
    }
    summary.busy_ns = static_cast<double>(busy);
    return summary;
  }

  size_t PixelOf(int64_t time) const {
    const auto after = std::upper_bound(times_.begin(), times_.end(), time);
    return after == times_.begin() ? 0 : static_cast<size_t>(after - times_.begin()) - 1;
  }
  void Close(size_t x, int64_t length_ns) {
    const bool full = best_[x].busy_ns >= static_cast<double>(length_ns) && busy_[x] >= scale_.ns_per_px();
    if (full) open_[x] = x + 1;
  }
  size_t NextOpen(size_t x) {
    size_t found = std::min(x, busy_.size());
    while (open_[found] != found) found = open_[found];
    for (size_t i = std::min(x, busy_.size()); i != found;) i = std::exchange(open_[i], found);
    return found;
  }

  const PixelScale& scale_;
  std::vector<int64_t> times_;  // where pixels begin
  std::vector<size_t> open_;    // the pixel itself, or one to the right that is nearer to the next open one
  std::vector<double> busy_;    // of all rows
  std::vector<RangeSummary> best_;
};

}  // namespace

std::vector<MinimapRow> BuildMinimap(const Timeline& timeline, const std::vector<RunAxis>& axes,
                                     int width_px) {
  ViewTransform view;
  const auto [begin, end] = AxisExtent(timeline, axes);
  view.SetExtent(begin, end);
  view.SetWidth(width_px);
  view.Show(begin, end);
  std::vector<MinimapRow> result;
  for (size_t r = 0; r < timeline.runs().size() && r < axes.size(); ++r) {
    const ShownRun& shown = timeline.runs()[r];
    const PixelScale scale(axes[r], view);
    MinimapRow row{shown.key, std::vector<DrawColumn>(static_cast<size_t>(std::max(0, width_px)))};
    float lanes = 0;
    for (const Lane& lane : shown.data->lanes) {
      const bool host = lane.device >= 0 && shown.data->devices[static_cast<size_t>(lane.device)].is_host;
      if (lane.role != LaneRole::kCompute || lane.size() == 0 || host) continue;
      ++lanes;
      LaneStrip strip(scale, row.columns.size());
      for (const SliceRow& slices : lane.rows) strip.Add(lane, slices);
      strip.AddTo(*shown.data, &row.columns);
    }
    for (DrawColumn& column : row.columns) column.busy = lanes > 0 ? column.busy / lanes : 0;
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace lanescope::gui
