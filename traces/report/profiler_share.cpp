#include "traces/report/profiler_share.h"

#include <algorithm>
#include <vector>

#include "core/time/intervals.h"
#include "traces/read/activity_origins.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

Interval WindowOf(const TraceRun& run) {
  Interval window{INT64_MAX, INT64_MIN};
  const auto cover = [&](const auto& parts) {
    for (const auto& part : parts) {
      window.start = std::min(window.start, part.start_ns);
      window.end = std::max(window.end, part.end_ns);
    }
  };
  cover(run.steps);
  if (window.start <= window.end) return window;
  cover(run.launches);
  cover(run.copies);
  cover(run.memsets);
  return window;
}

}  // namespace

ProfilerShare FindProfilerShare(TraceReader& reader, const TraceRun& run) {
  const Interval window = WindowOf(run);
  if (window.start >= window.end) return {};
  const RunFilter filter({{run.info.id}}, !reader.is_ours());
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
