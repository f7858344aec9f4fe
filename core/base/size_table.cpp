// SPDX-License-Identifier: Apache-2.0
#include "core/base/size_table.h"

#include <algorithm>

namespace lanescope {

double InterpolateNs(const std::vector<std::pair<int64_t, int64_t>>& table, double ns_per_byte,
                     int64_t bytes) {
  if (bytes <= table.front().first) return static_cast<double>(table.front().second);
  const auto above = std::lower_bound(table.begin(), table.end(), bytes,
                                      [](const auto& row, int64_t wanted) { return row.first < wanted; });
  const auto& below = *std::prev(above);
  if (above != table.end()) {
    ns_per_byte =
        static_cast<double>(above->second - below.second) / static_cast<double>(above->first - below.first);
  } else if (table.size() > 1) {
    const auto& previous = *std::prev(above, 2);
    ns_per_byte = static_cast<double>(below.second - previous.second) /
                  static_cast<double>(below.first - previous.first);
  }
  return static_cast<double>(below.second) + ns_per_byte * static_cast<double>(bytes - below.first);
}

}  // namespace lanescope
