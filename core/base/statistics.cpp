// SPDX-License-Identifier: Apache-2.0
#include "core/base/statistics.h"

namespace lanescope {

std::optional<Spread> SpreadOf(std::span<const int64_t> values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  Spread spread;
  spread.median = QuantileOfSorted(sorted, 0.5);
  spread.p25 = QuantileOfSorted(sorted, 0.25);
  spread.p75 = QuantileOfSorted(sorted, 0.75);
  spread.min = *std::min_element(values.begin(), values.end());
  spread.max = *std::max_element(values.begin(), values.end());
  spread.count = static_cast<int64_t>(values.size());
  return spread;
}

}  // namespace lanescope
