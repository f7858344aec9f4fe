#include "traces/read/nvtx_reader.h"

#include <algorithm>

#include "traces/store/lanescope_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

// ENUM_NSYS_EVENT_TYPE.
constexpr int64_t kPushPopRange = 59, kStartEndRange = 60;

void ReadRanges(Database& database, const RunFilter& filter, TextNumbers& texts, TraceRun* run) {
  constexpr const auto& from = tables::kNvtxEvent;
  ReadRows(database, from, {from.start, from.end, from.type, from.global_tid, from.text, from.text_id},
           [&](const auto& row) {
             const int64_t type = row[from.type].value_or(kPushPopRange);
             if (type != kPushPopRange && type != kStartEndRange) return;
             TraceRange range;
             range.global_tid = row[from.global_tid].value_or(0);
             if (filter.Of(range.global_tid) < 0) return;
             const std::optional<int64_t> start = row[from.start], end = row[from.end];
             // Exports of 2020 hold no NULLs: no end is 0 there.
             range.open = row.IsNull(from.end) || (start && end && *end == 0 && *start > 0);
             if (!start || (!range.open && (!end || *end < *start))) {
               ++run->invalid_rows;
               return;
             }
             range.start_ns = *start;
             range.end_ns = range.open ? kMaxTime : *end;
             range.process_wide = type == kStartEndRange;
             const std::string_view text = row[from.text];
             range.text = text.empty() ? texts.Number(row[from.text_id]) : -1;
             if (range.text < 0 && !row.IsNull(from.text)) range.text = texts.Add(text);
             run->ranges.push_back(range);
           });
  std::stable_sort(run->ranges.begin(), run->ranges.end(), [](const TraceRange& a, const TraceRange& b) {
    // The outer of two that start together comes first.
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
}

void ReadApiCalls(Database& database, const RunFilter& filter, TextNumbers& texts, TraceRun* run) {
  constexpr const auto& from = tables::kApiCall;
  ReadRows(database, from, {from.start, from.end, from.global_tid, from.correlation, from.name},
           [&](const auto& row) {
             TraceApiCall call;
             call.global_tid = row[from.global_tid].value_or(0);
             if (filter.Of(call.global_tid) < 0) return;
             const std::optional<int64_t> start = row[from.start], end = row[from.end];
             if (!start || !end || *end < *start) {
               ++run->invalid_rows;
               return;
             }
             call.start_ns = *start;
             call.end_ns = *end;
             call.correlation = row[from.correlation].value_or(-1);
             call.name = texts.Number(row[from.name]);
             run->api_calls.push_back(call);
           });
}

void ReadThreads(Database& database, const RunFilter& filter, TextNumbers& texts, TraceRun* run) {
  constexpr const auto& from = tables::kThreadNames;
  ReadRows(database, from, {from.global_tid, from.name}, [&](const auto& row) {
    const TraceThread thread{row[from.global_tid].value_or(0), texts.Number(row[from.name])};
    if (filter.Of(thread.global_tid) >= 0) run->threads.push_back(thread);
  });
}

// Of imports.
void ReadStreams(Database& database, TextNumbers& texts, TraceRun* run) {
  using tables::kStreamName, tables::kDeviceRange;
  ReadRows(database, kStreamName, {kStreamName.device, kStreamName.stream, kStreamName.name},
           [&](const auto& row) {
             run->streams.push_back(
                 {row[kStreamName.device], row[kStreamName.stream], texts.Number(row[kStreamName.name])});
           });
  ReadRows(
      database, kDeviceRange,
      {kDeviceRange.start, kDeviceRange.end, kDeviceRange.device, kDeviceRange.stream, kDeviceRange.name},
      [&](const auto& row) {
        const std::optional<int64_t> start = row[kDeviceRange.start], end = row[kDeviceRange.end];
        if (!start || !end || *end < *start) {
          ++run->invalid_rows;
          return;
        }
        run->device_ranges.push_back({*start, *end, row[kDeviceRange.device], row[kDeviceRange.stream],
                                      texts.Number(row[kDeviceRange.name])});
      });
}

}  // namespace

void ReadHostActivities(Database& database, const RunFilter& filter, TextNumbers& texts, TraceRun* run) {
  ReadRanges(database, filter, texts, run);
  ReadApiCalls(database, filter, texts, run);
  ReadThreads(database, filter, texts, run);
  ReadStreams(database, texts, run);
}

void CloseRanges(int64_t end_ns, TraceRun* run) {
  for (TraceRange& range : run->ranges) {
    if (range.open) range.end_ns = std::max(range.start_ns, end_ns);
  }
}

}  // namespace lanescope::traces
