// SPDX-License-Identifier: Apache-2.0
#include "traces/export/track_rows.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace lanescope::traces {
namespace {

// Beyond these the first row that is free is taken, whatever might nest there: else a file in which all
// overlaps would take quadratic time.
constexpr size_t kNestingRows = 32;

struct NestingRow {
  std::vector<int64_t> open;  // ends of the slices that hold the moment, the innermost last

  bool Take(int64_t start_ns, int64_t end_ns) {
    while (!open.empty() && open.back() <= start_ns) open.pop_back();
    if (!open.empty() && end_ns > open.back()) return false;
    open.push_back(end_ns);
    return true;
  }
};

// Positions by start, the longest of those that start together first; empty: as they lie.
std::vector<int> OrderOf(std::span<const int64_t> start_ns, std::span<const int64_t> end_ns) {
  const auto before = [&](int a, int b) {
    const auto x = static_cast<size_t>(a), y = static_cast<size_t>(b);
    return start_ns[x] != start_ns[y] ? start_ns[x] < start_ns[y] : end_ns[x] > end_ns[y];
  };
  const auto count = static_cast<int>(start_ns.size());
  bool in_order = true;
  for (int i = 1; i < count && in_order; ++i) in_order = !before(i, i - 1);
  std::vector<int> order;
  if (in_order) return order;
  order.resize(start_ns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

}  // namespace

std::vector<std::vector<int>> NestInRows(std::span<const int64_t> start_ns, std::span<const int64_t> end_ns) {
  const std::vector<int> order = OrderOf(start_ns, end_ns);
  std::vector<std::vector<int>> rows;
  std::vector<NestingRow> nesting;
  using FreeFrom = std::pair<int64_t, size_t>;
  std::priority_queue<FreeFrom, std::vector<FreeFrom>, std::greater<>> others;
  const auto row_for = [&](int64_t start, int64_t end) {
    for (size_t row = 0; row < nesting.size(); ++row) {
      if (nesting[row].Take(start, end)) return row;
    }
    if (nesting.size() < kNestingRows) {
      nesting.emplace_back().Take(start, end);
      return nesting.size() - 1;
    }
    size_t row = kNestingRows + others.size();
    if (!others.empty() && others.top().first <= start) {
      row = others.top().second;
      others.pop();
    }
    others.emplace(end, row);
    return row;
  };
  for (size_t i = 0; i < start_ns.size(); ++i) {
    const int slice = order.empty() ? static_cast<int>(i) : order[i];
    const size_t row = row_for(start_ns[static_cast<size_t>(slice)], end_ns[static_cast<size_t>(slice)]);
    if (row >= rows.size()) rows.resize(row + 1);
    rows[row].push_back(slice);
  }
  return rows;
}

}  // namespace lanescope::traces
