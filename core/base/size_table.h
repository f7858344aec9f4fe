// SPDX-License-Identifier: Apache-2.0
// Measured times by size.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lanescope {

// Straight lines between the rows (bytes, ns), which ascend and of which there is one at least; the first
// row's time below them, the last slope above them: of a single row `ns_per_byte`.
double InterpolateNs(const std::vector<std::pair<int64_t, int64_t>>& table, double ns_per_byte,
                     int64_t bytes);

}  // namespace lanescope
