// SPDX-License-Identifier: Apache-2.0
#include "traces/report/profiler_share.h"

#include <algorithm>
#include <vector>

#include "core/time/intervals.h"
#include "traces/read/activity_origins.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {

ProfilerShare FindProfilerShare(TraceReader& reader, int run, Interval window) {
  if (window.start >= window.end) return {};
  const RunFilter filter({{run}}, !reader.is_ours());
  IntervalSet taken;
  using tables::kOverhead;
  ReadRows(reader.database(), kOverhead, {kOverhead.start, kOverhead.end, kOverhead.global_tid},
           [&](const auto& row) {
             const std::optional<int64_t> start = row[kOverhead.start], end = row[kOverhead.end];
             if (start && end && *start < *end && filter.Of(row[kOverhead.global_tid].value_or(0)) >= 0)
               taken.Add(*start, *end);
           });
  return {TotalLength(ClipTo(taken.Union(), std::span(&window, 1))), window.end - window.start};
}

}  // namespace lanescope::traces
