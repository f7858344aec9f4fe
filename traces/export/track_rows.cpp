#include "traces/export/track_rows.h"

#include <algorithm>
#include <queue>

namespace lanescope::traces {
namespace {

// Beyond these the first row that is free is taken, whatever might nest there: else a file in which all
// overlaps would take quadratic time.
constexpr size_t kNestingRows = 32;

struct NestingRow {
  std::vector<int64_t> open;  // ends of the slices that hold the moment, the innermost last

  bool Take(const RowSlice& slice) {
    while (!open.empty() && open.back() <= slice.start_ns) open.pop_back();
    if (!open.empty() && slice.end_ns > open.back()) return false;
    open.push_back(slice.end_ns);
    return true;
  }
};

}  // namespace

std::vector<std::vector<int>> NestInRows(std::vector<RowSlice> slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const RowSlice& a, const RowSlice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::vector<std::vector<int>> rows;
  std::vector<NestingRow> nesting;
  using FreeFrom = std::pair<int64_t, size_t>;
  std::priority_queue<FreeFrom, std::vector<FreeFrom>, std::greater<>> others;
  const auto row_for = [&](const RowSlice& slice) {
    for (size_t row = 0; row < nesting.size(); ++row) {
      if (nesting[row].Take(slice)) return row;
    }
    if (nesting.size() < kNestingRows) {
      nesting.emplace_back().Take(slice);
      return nesting.size() - 1;
    }
    size_t row = kNestingRows + others.size();
    if (!others.empty() && others.top().first <= slice.start_ns) {
      row = others.top().second;
      others.pop();
    }
    others.emplace(slice.end_ns, row);
    return row;
  };
  for (const RowSlice& slice : slices) {
    const size_t row = row_for(slice);
    if (row >= rows.size()) rows.resize(row + 1);
    rows[row].push_back(slice.id);
  }
  return rows;
}

}  // namespace lanescope::traces
