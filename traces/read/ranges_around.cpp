// SPDX-License-Identifier: Apache-2.0
#include "traces/read/ranges_around.h"

#include <cstdint>
#include <unordered_map>

namespace lanescope::traces {

std::vector<int> RangesAround(const TraceRun& run) {
  std::vector<int> around(run.ranges.size(), -1);
  std::unordered_map<int64_t, std::vector<int>> open;  // by thread, the innermost last
  for (size_t i = 0; i < run.ranges.size(); ++i) {
    const TraceRange& range = run.ranges[i];
    if (range.process_wide) continue;
    std::vector<int>& of_thread = open[range.global_tid];
    while (!of_thread.empty() && run.ranges[static_cast<size_t>(of_thread.back())].end_ns < range.end_ns)
      of_thread.pop_back();
    if (!of_thread.empty()) around[i] = of_thread.back();
    of_thread.push_back(static_cast<int>(i));
  }
  return around;
}

}  // namespace lanescope::traces
