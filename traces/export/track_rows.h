// Slices that overlap without one holding the other, told apart by rows. Internal to traces.
#pragma once

#include <cstdint>
#include <vector>

namespace lanescope::traces {

struct RowSlice {
  int64_t start_ns = 0, end_ns = 0;
  int id = 0;
};

// The ids by row, each by start and a slice before those that it holds. As few rows as the first that fits
// gives; equal slices keep their order. O(n log n).
std::vector<std::vector<int>> NestInRows(std::vector<RowSlice> slices);

}  // namespace lanescope::traces
