#include "traces/report/foreign_notes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/units.h"
#include "traces/report/longest_launch.h"
#include "traces/report/operation_sums.h"

namespace lanescope::traces {
namespace {

void AddClocks(const std::vector<TraceRank>& ranks, Summary* summary) {
  for (const TraceRank& rank : ranks) {
    if (rank.clock_ahead_ns == 0) continue;
    summary->notes.push_back(fmt::format(
        "the clock of {} is {} {} the first file's, by what both have in common; its times are put "
        "right",
        RankName(rank), TimeText(std::abs(static_cast<double>(rank.clock_ahead_ns))),
        rank.clock_ahead_ns > 0 ? "ahead of" : "behind"));
  }
}

void AddHostRanges(TraceReader& reader, int run, Summary* summary) {
  const TraceRun outline = reader.ReadOutline(run);
  if (outline.ranges.empty()) return;
  summary->nvtx_sums = SumsOfRanges(outline, -1);
  std::set<int64_t> threads;
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (const TraceRange& range : outline.ranges) {
    threads.insert(range.global_tid);
    first = std::min(first, range.start_ns);
    last = std::max(last, range.end_ns);
  }
  summary->verdict = fmt::format("Nothing ran on a device. The host has {} ranges on {} thread{} in {}",
                                 outline.ranges.size(), threads.size(), threads.size() == 1 ? "" : "s",
                                 TimeText(last - first));
  if (!summary->nvtx_sums.empty()) {
    const OperationSum& longest = summary->nvtx_sums.front();
    summary->verdict += fmt::format("; {} takes the most time ({} in {} calls)", ShortName(longest.name),
                                    TimeText(longest.total), longest.count);
  }
  summary->verdict += ".";
}

}  // namespace

void AddForeignNotes(TraceReader& reader, int run, Summary* summary) {
  if (reader.is_ours()) return;
  AddClocks(reader.Ranks(), summary);
  if (summary->step < 0 && summary->gpu_activities.empty() && summary->host_activities.empty())
    AddHostRanges(reader, run, summary);
}

}  // namespace lanescope::traces
