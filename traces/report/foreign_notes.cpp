// SPDX-License-Identifier: Apache-2.0
#include "traces/report/foreign_notes.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/units.h"
#include "core/time/intervals.h"
#include "traces/report/longest_launch.h"
#include "traces/report/lost_launches.h"
#include "traces/report/operation_sums.h"
#include "traces/store/export_tables.h"
#include "traces/store/import_tables.h"
#include "traces/store/step_text.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

constexpr std::string_view kRecordKernels =
    " Record what the GPU does: nsys profile --trace=cuda (-t cuda), of the process that uses it.";

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

// "0 to 2, 7".
std::string NumbersText(const std::vector<int>& numbers) {
  constexpr size_t kMostShown = 5;
  std::string text;
  size_t shown = 0;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (++shown > kMostShown) return text + ", ...";
    text += text.empty() ? "" : ", ";
    text += first == last ? fmt::format("{}", numbers[first])
                          : fmt::format("{} to {}", numbers[first], numbers[last]);
    first = last + 1;
  }
  return text;
}

bool IsImport(Database& database) {
  bool found = false;
  using tables::kExportMetaData;
  ReadRows(database, kExportMetaData, {kExportMetaData.value}, [&](const auto& row) {
    found = found || row[kExportMetaData.value].starts_with("Lanescope import");
  });
  return found;
}

// Warnings of the profiler: where something ran on a device, those that concern it alone.
void AddDiagnostics(Database& database, Summary* summary) {
  constexpr size_t kMost = 20;
  const bool all =
      (summary->gpu_activities.empty() && summary->host_activities.empty()) || IsImport(database);
  using tables::kDiagnostic;
  std::set<std::string> known;
  ReadRows(database, kDiagnostic, {kDiagnostic.severity, kDiagnostic.text}, [&](const auto& row) {
    if (row[kDiagnostic.severity].value_or(0) < tables::kWarning || known.size() >= kMost) return;
    std::string text(row[kDiagnostic.text]);
    if (!all && text.find("CUDA") == std::string::npos) return;
    if (known.insert(text).second) summary->notes.push_back(std::move(text));
  });
}

void AddLostLaunches(const LostLaunches& found, Summary* summary) {
  if (found.lost == 0) return;
  const bool none = found.lost == found.launches;
  summary->notes.push_back(fmt::format("{} of {} launches {} no kernel in the trace: the profiler {} them",
                                       none ? "all" : fmt::format("{}", found.lost), found.launches,
                                       found.lost == 1 ? "has" : "have", none ? "recorded none of" : "lost"));
}

void AddStepsWithoutWork(const std::vector<int>& steps, Summary* summary) {
  if (steps.empty()) return;
  summary->notes.push_back(fmt::format("step{} {} {} no work on a device", steps.size() == 1 ? "" : "s",
                                       NumbersText(steps), steps.size() == 1 ? "has" : "have"));
}

// The content of a trace without work of devices: "5 calls of the operating system, process app".
std::string HostContents(Database& database, const TraceRun& outline) {
  std::string text;
  const auto add = [&](int64_t count, std::string_view what) {
    if (count > 0)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, what, count == 1 ? "" : "s");
  };
  int64_t system_calls = 0;
  using tables::kSystemCall;
  ReadRows(database, kSystemCall, {kSystemCall.start}, [&](const auto&) { ++system_calls; });
  add(std::ssize(outline.api_calls), "API call");
  add(std::ssize(outline.ranges), "range");
  add(system_calls, "OS runtime call");
  std::set<std::string> names;
  for (const TraceProcess& process : outline.processes) {
    const std::string& name = outline.Text(process.name);
    if (!IsNoProcess(process.global_pid) && !name.empty()) names.insert(name.substr(name.rfind('/') + 1));
  }
  constexpr size_t kMostNames = 5;
  if (!names.empty() && names.size() <= kMostNames) text += fmt::format(" of {}", fmt::join(names, ", "));
  return text;
}

// Adds the host's ranges of the whole run, or of a step of it.
void AddHostRanges(Database& database, const TraceRun& outline, const Interval& window,
                   const LostLaunches& lost, Summary* summary) {
  std::set<int64_t> threads;
  int64_t first = INT64_MAX, last = INT64_MIN, count = 0;
  TraceRun program;
  program.texts = outline.texts;
  for (const TraceRange& range : outline.ranges) {
    // The profiler's own span is no work.
    if (IsNoProcess(range.global_tid) || range.start_ns < window.start || range.start_ns >= window.end)
      continue;
    program.ranges.push_back(range);
    threads.insert(range.global_tid);
    first = std::min(first, range.start_ns);
    last = std::max(last, range.end_ns);
    ++count;
  }
  const std::string_view nothing =
      lost.lost > 0 ? "What the host launched is not in the trace" : "Nothing ran on a device";
  if (count == 0) {
    const std::string contents = HostContents(database, outline);
    if (!contents.empty())
      summary->verdict = fmt::format("{}: the trace has {}.{}", nothing, contents, kRecordKernels);
    return;
  }
  summary->nvtx_sums = SumsOfRanges(program, -1);
  summary->verdict =
      fmt::format("{}. The host has {} ranges on {} thread{} in {}", nothing, count, threads.size(),
                  threads.size() == 1 ? "" : "s", TimeText(static_cast<double>(last - first)));
  // A step is no op of its own.
  const auto longest = std::ranges::find_if(summary->nvtx_sums,
                                            [](const OperationSum& sum) { return !ParseStepText(sum.name); });
  if (longest != summary->nvtx_sums.end()) {
    summary->verdict += fmt::format("; {} takes the most time ({} in {} calls)", ShortName(longest->name),
                                    TimeText(longest->total), longest->count);
  }
  summary->verdict += ".";
}

}  // namespace

void AddForeignNotes(TraceReader& reader, int run, const TraceRun* in_memory, Summary* summary) {
  if (reader.is_ours()) return;
  AddClocks(reader.Ranks(), summary);
  AddDiagnostics(reader.database(), summary);
  const LostLaunches lost = FindLostLaunches(reader, run);
  AddLostLaunches(lost, summary);
  if (in_memory != nullptr && summary->step < 0) AddStepsWithoutWork(in_memory->steps_without_work, summary);
  if (!summary->gpu_activities.empty() || !summary->host_activities.empty()) return;
  Interval window{INT64_MIN, INT64_MAX};
  if (summary->step >= 0 && in_memory != nullptr) {
    const auto step = std::ranges::find(in_memory->steps, summary->step, &TraceStep::step);
    if (step == in_memory->steps.end() || !summary->devices.empty()) return;
    window = {step->start_ns, step->end_ns};
  }
  AddHostRanges(reader.database(), reader.ReadOutline(run), window, lost, summary);
}

void AddUnjoinedGraphs(const TraceRun& run, Summary* summary) {
  if (run.unjoined_graphs == 0) return;
  summary->notes.push_back(
      fmt::format("{} of {} launches of CUDA graphs ran what no recorded capture has in that order: their "
                  "kernels stand where the graph was launched",
                  run.unjoined_graphs, run.unjoined_graphs + run.joined_graphs));
}

}  // namespace lanescope::traces
