// SPDX-License-Identifier: Apache-2.0
#include "traces/report/idle_calls.h"

#include "traces/read/activity_origins.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

class GapCalls {
 public:
  explicit GapCalls(std::span<const Interval> gaps) : gaps_(gaps) {}

  void Add(int64_t name, int64_t start_ns, int64_t end_ns) {
    const Interval call{start_ns, end_ns};
    for (const Interval& part : ClipTo(gaps_, std::span(&call, 1))) calls_[name].Add(part.start, part.end);
  }
  CallsInGaps Take() {
    CallsInGaps found;
    for (auto& [name, parts] : calls_) found[name] = TotalLength(parts.Union());
    return found;
  }

 private:
  std::span<const Interval> gaps_;
  std::map<int64_t, IntervalSet> calls_;
};

}  // namespace

CallsInGaps FindCallsInGaps(const TraceRun& run, std::span<const Interval> gaps) {
  GapCalls calls(gaps);
  for (const TraceApiCall& call : run.api_calls) calls.Add(call.name, call.start_ns, call.end_ns);
  return calls.Take();
}

CallsInGaps FindCallsInGaps(Database& database, int run, bool ours, std::span<const Interval> gaps) {
  GapCalls calls(gaps);
  const RunFilter filter({{run}}, !ours);
  constexpr const auto& from = tables::kApiCall;
  ReadRows(database, from, {from.start, from.end, from.name, {from.global_tid, ours}}, [&](const auto& row) {
    const std::optional<int64_t> start = row[from.start], end = row[from.end];
    if (!start || !end || *end < *start || filter.Of(row[from.global_tid].value_or(0)) < 0) return;
    calls.Add(row[from.name].value_or(-1), *start, *end);
  });
  return calls.Take();
}

}  // namespace lanescope::traces
