// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "gui/model/draw_rows.h"
#include "gui/model/selection.h"

namespace lanescope::gui {
namespace {

// How many slices pass between two looks at the cancel flag.
constexpr size_t kBetweenChecks = 1 << 16;

// Which group a slice belongs to: numbers within one run, texts in the end.
class Grouping {
 public:
  Grouping(const RunData& run, GroupBy group) : run_(run), group_(group) {
    if (group == GroupBy::kName || group == GroupBy::kOp) {
      std::map<std::string_view, int> numbers;
      for (const OpEntry& op : run.ops) {
        const auto [found, added] =
            numbers.try_emplace(group == GroupBy::kName ? op.name : op.op, static_cast<int>(texts_.size()));
        if (added) texts_.emplace_back(found->first);
        group_of_op_.push_back(found->second);
      }
      nameless_ = static_cast<int>(texts_.size());
      texts_.emplace_back("(nameless)");
    }
  }
  // Group of all slices of a lane; -1: it depends on the op.
  int OfLane(const Lane& lane) {
    if (group_ == GroupBy::kName || group_ == GroupBy::kOp) return -1;
    std::string text(LaneRoleName(lane.role));
    if (group_ == GroupBy::kDevice) {
      text = lane.device >= 0 ? run_.devices[static_cast<size_t>(lane.device)].label : "host";
    }
    const auto found = std::find(texts_.begin(), texts_.end(), text);
    if (found != texts_.end()) return static_cast<int>(found - texts_.begin());
    texts_.push_back(std::move(text));
    return static_cast<int>(texts_.size()) - 1;
  }
  int OfOp(int32_t op) const { return op >= 0 ? group_of_op_[static_cast<size_t>(op)] : nameless_; }
  const std::string& Text(size_t group) const { return texts_[group]; }
  size_t size() const { return texts_.size(); }

 private:
  const RunData& run_;
  GroupBy group_;
  std::vector<int> group_of_op_;
  int nameless_ = 0;
  std::vector<std::string> texts_;
};

void SumRun(const SumRequest::Run& part, const SumRequest& request, const std::atomic<bool>& cancelled,
            SumTable* table) {
  const RunData& run = *part.data;
  Grouping grouping(run, request.group);
  const int64_t from = part.axis.ToTime(request.begin), to = part.axis.ToTime(request.end);
  std::vector<SumRow> rows;
  SumTable::RunTotal total{part.key, 0, 0, to - from};
  for (const int number : part.lanes) {
    if (number < 0 || static_cast<size_t>(number) >= run.lanes.size()) continue;
    const Lane& lane = run.lanes[static_cast<size_t>(number)];
    const int whole = grouping.OfLane(lane);
    rows.resize(grouping.size());
    for (const SliceRow& row : lane.rows) {
      const RowSlices slices = SlicesOfRow(lane, row);
      const size_t first = FirstEndingAfter(slices.end, from), last = FirstStartingFrom(slices.start, to);
      for (size_t i = first; i < last; ++i) {
        if (i % kBetweenChecks == 0 && cancelled.load(std::memory_order_relaxed)) return;
        const int64_t ns = std::min(slices.end[i], to) - std::max(slices.start[i], from);
        SumRow& sum = rows[static_cast<size_t>(whole >= 0 ? whole : grouping.OfOp(slices.op[i]))];
        sum.min_ns = sum.count == 0 ? ns : std::min(sum.min_ns, ns);
        sum.max_ns = std::max(sum.max_ns, ns);
        sum.total_ns += ns;
        ++sum.count;
        if (!lane.bytes.empty()) sum.bytes += lane.bytes[row.begin + i];
        total.total_ns += ns;
        ++total.count;
      }
    }
  }
  for (size_t group = 0; group < rows.size(); ++group) {
    SumRow& row = rows[group];
    if (row.count == 0) continue;
    row.group = grouping.Text(group);
    row.run = part.key;
    row.share =
        total.total_ns > 0 ? static_cast<double>(row.total_ns) / static_cast<double>(total.total_ns) : 0;
    table->rows.push_back(std::move(row));
  }
  table->totals.push_back(total);
}

}  // namespace

SumRequest RequestSums(const Timeline& timeline, const std::vector<RunAxis>& axes, const Area& area,
                       GroupBy group) {
  SumRequest request;
  request.begin = area.begin;
  request.end = area.end;
  request.group = group;
  for (size_t r = 0; r < timeline.runs().size() && r < axes.size(); ++r) {
    const ShownRun& shown = timeline.runs()[r];
    SumRequest::Run part{shown.key, shown.data, axes[r], {}};
    for (const LaneId& lane : area.lanes) {
      if (lane.first == shown.key) part.lanes.push_back(lane.second);
    }
    if (!part.lanes.empty()) request.runs.push_back(std::move(part));
  }
  return request;
}

SumTable ComputeSums(const SumRequest& request, const std::atomic<bool>& cancelled) {
  SumTable table;
  table.group = request.group;
  table.begin = request.begin;
  table.end = request.end;
  for (const SumRequest::Run& run : request.runs) SumRun(run, request, cancelled, &table);
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const SumRow& a, const SumRow& b) { return a.total_ns > b.total_ns; });
  return table;
}

}  // namespace lanescope::gui
