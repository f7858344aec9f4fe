// SPDX-License-Identifier: Apache-2.0
// Slices that overlap without one holding the other, told apart by rows. Internal to traces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanescope::traces {

// The positions of slices by row, each by start and a slice before those that it holds. As few rows as the
// first that fits gives; equal slices keep their order. O(n log n), of sorted slices O(n).
std::vector<std::vector<int>> NestInRows(std::span<const int64_t> start_ns, std::span<const int64_t> end_ns);

}  // namespace lanescope::traces
