#include "traces/nvtx_reader.h"

#include <algorithm>

#include "traces/table_scan.h"

namespace lanescope {
namespace {

// ENUM_NSYS_EVENT_TYPE.
constexpr int64_t kPushPopRange = 59, kStartEndRange = 60;

void ReadRanges(Database& database, const ProcessFilter& processes, TextNumbers& texts, TraceRun* run) {
  constexpr std::string_view kTable = "NVTX_EVENTS";
  if (!database.HasTable(kTable)) return;
  TableScan scan(database, kTable,
                 {{"start", true}, {"end"}, {"eventType"}, {"globalTid"}, {"text"}, {"textId"}});
  while (scan.Next()) {
    const int64_t type = scan.Integer(2, kPushPopRange);
    if (type != kPushPopRange && type != kStartEndRange) continue;
    TraceRange range;
    range.global_tid = scan.Integer(3);
    if (!processes.Has(GlobalPidOf(range.global_tid))) continue;
    const std::optional<int64_t> start = scan.MaybeTime(0), end = scan.MaybeTime(1);
    // Exports of 2020 hold no NULLs: no end is 0 there.
    range.open = scan.IsNull(1) || (start && end && *end == 0 && *start > 0);
    if (!start || (!range.open && (!end || *end < *start))) {
      ++run->invalid_rows;
      continue;
    }
    range.start_ns = *start;
    range.end_ns = range.open ? kMaxTime : *end;
    range.process_wide = type == kStartEndRange;
    const std::string text = scan.Text(4);
    range.text = text.empty() ? texts.Number(scan.Integer(5, -1)) : -1;
    if (range.text < 0 && !scan.IsNull(4)) range.text = texts.Add(text);
    run->ranges.push_back(range);
  }
  std::stable_sort(run->ranges.begin(), run->ranges.end(), [](const TraceRange& a, const TraceRange& b) {
    // The outer of two that start together comes first.
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
}

void ReadApiCalls(Database& database, const ProcessFilter& processes, TextNumbers& texts, TraceRun* run) {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_RUNTIME";
  if (!database.HasTable(kTable)) return;
  TableScan scan(database, kTable,
                 {{"start", true}, {"end", true}, {"globalTid"}, {"correlationId"}, {"nameId"}});
  while (scan.Next()) {
    TraceApiCall call;
    call.global_tid = scan.Integer(2);
    if (!processes.Has(GlobalPidOf(call.global_tid))) continue;
    const std::optional<int64_t> start = scan.MaybeTime(0), end = scan.MaybeTime(1);
    if (!start || !end || *end < *start) {
      ++run->invalid_rows;
      continue;
    }
    call.start_ns = *start;
    call.end_ns = *end;
    call.correlation = scan.Integer(3, -1);
    call.name = texts.Number(scan.Integer(4, -1));
    run->api_calls.push_back(call);
  }
}

void ReadThreads(Database& database, const ProcessFilter& processes, TextNumbers& texts, TraceRun* run) {
  if (!database.HasTable("ThreadNames")) return;
  TableScan scan(database, "ThreadNames", {{"globalTid", true}, {"nameId", true}});
  while (scan.Next()) {
    const TraceThread thread{scan.Integer(0), texts.Number(scan.Integer(1, -1))};
    if (processes.Has(GlobalPidOf(thread.global_tid))) run->threads.push_back(thread);
  }
}

}  // namespace

void ReadHostActivities(Database& database, const ProcessFilter& processes, TextNumbers& texts,
                        TraceRun* run) {
  ReadRanges(database, processes, texts, run);
  ReadApiCalls(database, processes, texts, run);
  ReadThreads(database, processes, texts, run);
}

void CloseRanges(int64_t end_ns, TraceRun* run) {
  for (TraceRange& range : run->ranges) {
    if (range.open) range.end_ns = std::max(range.start_ns, end_ns);
  }
}

}  // namespace lanescope
