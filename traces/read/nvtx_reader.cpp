// SPDX-License-Identifier: Apache-2.0
#include "traces/read/nvtx_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "traces/read/ranks.h"
#include "traces/store/import_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

// ENUM_NSYS_EVENT_TYPE.
constexpr int64_t kPushPopRange = 59, kStartEndRange = 60, kDomainCreate = 75;

// Libraries have domains of their own: equal texts of two are two ranges.
class NvtxDomains {
 public:
  explicit NvtxDomains(Database& database) {
    constexpr const auto& from = tables::kNvtxEvent;
    if (!database.HasColumn(from.sql_name(), from[from.domain].name)) return;
    ReadRows(database, from, {from.type, from.domain, from.global_tid, from.text, from.text_id},
             [&](const auto& row) {
               const std::optional<int64_t> domain = row[from.domain];
               if (row[from.type] != kDomainCreate || !domain) return;
               const std::string_view name = row[from.text];
               domains_[{GlobalPidOf(row[from.global_tid].value_or(0)), *domain}] = {
                   std::string(name), name.empty() ? row[from.text_id].value_or(-1) : -1};
             });
  }

  // "libA:read"; the domain of nobody's is that of the program.
  int TextIn(int64_t global_tid, int64_t domain, int text, TextNumbers& texts) {
    const auto [entry, is_new] = prefixed_.try_emplace({GlobalPidOf(global_tid), domain, text}, text);
    if (is_new) {
      const auto named = domains_.find({GlobalPidOf(global_tid), domain});
      std::string name = named == domains_.end() ? "" : named->second.name;
      if (named != domains_.end() && name.empty()) name = texts.Text(texts.Number(named->second.text_id));
      if (name.empty()) name = fmt::format("domain {}", domain);
      entry->second = texts.Add(fmt::format("{}:{}", name, texts.Text(text)));
    }
    return entry->second;
  }

 private:
  struct Name {
    std::string name;
    int64_t text_id = -1;
  };
  std::map<std::pair<int64_t, int64_t>, Name> domains_;        // by process and number
  std::map<std::tuple<int64_t, int64_t, int>, int> prefixed_;  // the same and text
};

// By number of their range.
std::unordered_map<int64_t, int> ReadOperators(Database& database, TextNumbers& texts, TraceRun* run) {
  std::unordered_map<int64_t, int> found;
  constexpr const auto& from = tables::kOperator;
  ReadRows(database, from, {from.event, from.shapes, from.types, from.stack}, [&](const auto& row) {
    const std::optional<int64_t> event = row[from.event];
    if (!event || !found.try_emplace(*event, static_cast<int>(run->operators.size())).second) return;
    run->operators.push_back(
        {texts.Number(row[from.shapes]), texts.Number(row[from.types]), texts.Number(row[from.stack])});
  });
  return found;
}

void ReadRanges(Database& database, const RunFilter& filter, TextNumbers& texts, TraceRun* run) {
  constexpr const auto& from = tables::kNvtxEvent;
  const std::unordered_map<int64_t, int> operators = ReadOperators(database, texts, run);
  const bool described = !operators.empty();
  NvtxDomains domains(database);
  ReadRows(database, from,
           {from.start,
            from.end,
            from.type,
            from.global_tid,
            from.text,
            from.text_id,
            from.domain,
            {from.event, described}},
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
             if (const int64_t domain = row[from.domain].value_or(0); domain != 0) {
               range.of_library = true;
               if (domain != tables::kNamedDomain)
                 range.text = domains.TextIn(range.global_tid, domain, range.text, texts);
             }
             if (described) {
               const auto details = operators.find(row[from.event].value_or(-1));
               if (details != operators.end()) range.details = details->second;
             }
             run->ranges.push_back(range);
           });
  std::stable_sort(run->ranges.begin(), run->ranges.end(), [](const TraceRange& a, const TraceRange& b) {
    // The outer of two that start together comes first.
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
}

void ReadThreads(Database& database, const RunFilter& filter, TextNumbers& texts, TraceRun* run) {
  constexpr const auto& from = tables::kThreadNames;
  ReadRows(database, from, {from.global_tid, from.name}, [&](const auto& row) {
    const TraceThread thread{row[from.global_tid].value_or(0), texts.Number(row[from.name])};
    if (filter.Of(thread.global_tid) >= 0) run->threads.push_back(thread);
  });
}

void ReadProcesses(Database& database, const RunFilter& filter, TextNumbers& texts, TraceRun* run) {
  using tables::kProcesses;
  ReadRows(database, kProcesses, {kProcesses.global_pid, kProcesses.name}, [&](const auto& row) {
    const int64_t global_pid = row[kProcesses.global_pid].value_or(0);
    if (filter.Of(global_pid) < 0 || row.IsNull(kProcesses.name)) return;
    run->processes.push_back({global_pid, texts.Add(row[kProcesses.name])});
  });
  for (const auto& [global_pid, rank] : ReadMpiRanks(database)) {
    if (filter.Of(global_pid) < 0) continue;
    const auto known = std::ranges::find(run->processes, global_pid, &TraceProcess::global_pid);
    if (known == run->processes.end()) {
      run->processes.push_back({global_pid, -1, rank});
    } else {
      known->rank = rank;
    }
  }
  run->ranks = ReadRanks(database);
}

void ReadNvlinks(Database& database, TraceRun* run) {
  using tables::kNvlink;
  ReadRunRows(database, kNvlink, run->info.id, {kNvlink.device0, kNvlink.device1, kNvlink.bandwidth},
              [&](const auto& row) {
                run->nvlinks.push_back({std::string(row[kNvlink.device0]), std::string(row[kNvlink.device1]),
                                        std::max<int64_t>(0, row[kNvlink.bandwidth].value_or(0))});
              });
}

// Streams of imports.
void ReadStreams(Database& database, TextNumbers& texts, TraceRun* run) {
  using tables::kStreamName, tables::kDeviceRange;
  ReadRows(database, kStreamName, {kStreamName.device, kStreamName.stream, kStreamName.name},
           [&](const auto& row) {
             run->streams.push_back(
                 {row[kStreamName.device], row[kStreamName.stream], texts.Number(row[kStreamName.name])});
           });
  ReadRows(database, kDeviceRange,
           {kDeviceRange.start, kDeviceRange.end, kDeviceRange.device, kDeviceRange.stream, kDeviceRange.name,
            kDeviceRange.counted},
           [&](const auto& row) {
             const std::optional<int64_t> start = row[kDeviceRange.start], end = row[kDeviceRange.end];
             if (!start || !end || *end < *start) {
               ++run->invalid_rows;
               return;
             }
             run->device_ranges.push_back({*start, *end, row[kDeviceRange.device], row[kDeviceRange.stream],
                                           texts.Number(row[kDeviceRange.name]),
                                           texts.Number(row[kDeviceRange.counted])});
           });
}

void ReadSpans(Database& database, TraceRun* run) {
  using tables::kSpan;
  ReadRows(database, kSpan, {kSpan.start, kSpan.end, kSpan.unrecorded}, [&](const auto& row) {
    const std::optional<int64_t> start = row[kSpan.start], end = row[kSpan.end];
    if (start && end) run->spans.push_back({*start, *end, row[kSpan.unrecorded]});
  });
  std::ranges::sort(run->spans, {}, &TraceSpan::start_ns);
}

}  // namespace

void ReadApiCalls(Database& database, const RunFilter& filter, TextNumbers& texts, int64_t* invalid_rows,
                  const std::function<void(const TraceApiCall&)>& visit) {
  constexpr const auto& from = tables::kApiCall;
  ReadRows(database, from, {from.start, from.end, from.global_tid, from.correlation, from.name},
           [&](const auto& row) {
             TraceApiCall call;
             call.global_tid = row[from.global_tid].value_or(0);
             if (filter.Of(call.global_tid) < 0) return;
             const std::optional<int64_t> start = row[from.start], end = row[from.end];
             if (!start || !end || *end < *start) {
               ++*invalid_rows;
               return;
             }
             call.start_ns = *start;
             call.end_ns = *end;
             call.correlation = row[from.correlation].value_or(-1);
             call.name = texts.Number(row[from.name]);
             visit(call);
           });
}

bool ReadHostActivities(Database& database, const RunFilter& filter, KeepCalls keep, TextNumbers& texts,
                        TraceRun* run) {
  ReadRanges(database, filter, texts, run);
  const bool kept = keep == KeepCalls::kAlways || !run->ranges.empty();
  if (kept) {
    ReadApiCalls(database, filter, texts, &run->invalid_rows,
                 [run](const TraceApiCall& call) { run->api_calls.push_back(call); });
  }
  ReadThreads(database, filter, texts, run);
  ReadProcesses(database, filter, texts, run);
  ReadStreams(database, texts, run);
  ReadNvlinks(database, run);
  ReadSpans(database, run);
  return kept;
}

void CloseRanges(int64_t end_ns, TraceRun* run) {
  for (TraceRange& range : run->ranges) {
    if (range.open) range.end_ns = std::max(range.start_ns, end_ns);
  }
}

}  // namespace lanescope::traces
