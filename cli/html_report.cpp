// SPDX-License-Identifier: Apache-2.0
// The subcommand `report`: what a trace says, as a page to pass on.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/run_pair.h"
#include "cli/sweep_report.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/runs/run_diff.h"
#include "study/predict/trace_sweep.h"
#include "traces/export/report_page.h"
#include "traces/read/trace_reader.h"
#include "traces/report/advice.h"
#include "traces/report/summary.h"

namespace lanescope::cli {
namespace {

constexpr size_t kRowsOfATable = 15;
constexpr size_t kName = 120;  // columns: those of templates reach thousands
constexpr size_t kRunsWithTimeline = 8;
constexpr size_t kSlicesOfAPage = 60'000;  // some 3 MB

struct PageOptions {
  std::vector<std::string> traces;
  std::string out = "report.html";
};

using traces::PageSection, traces::PageTable;

PageTable TableOf(std::string title, const std::vector<traces::SummaryRow>& rows) {
  PageTable table{std::move(title), {"Time", "Share", "Calls", "Mean", "Longest", "Name"}, {}};
  for (size_t i = 0; i < std::min(rows.size(), kRowsOfATable); ++i) {
    const traces::SummaryRow& row = rows[i];
    table.rows.push_back({TimeText(row.total_ns), PercentText(row.time_percent / 100),
                          std::to_string(row.calls), TimeText(row.avg_ns), TimeText(row.max_ns),
                          Shortened(row.name, kName)});
  }
  if (rows.size() > kRowsOfATable)
    table.title += fmt::format(" (the first {} of {})", kRowsOfATable, rows.size());
  return table;
}

PageTable DevicesTable(const traces::Summary& summary) {
  PageTable table{summary.over_steps ? "Devices, over the steps" : "Devices, over the whole run",
                  {"Device", "Window", "Compute", "NCCL hidden", "NCCL exposed", "Copies hidden",
                   "Copies exposed", "Idle"},
                  {}};
  for (const traces::DeviceTime& time : summary.devices) {
    const auto share = [&](int64_t ns) {
      return PercentText(static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(1, time.window_ns)));
    };
    table.rows.push_back({time.device, TimeText(time.window_ns), share(time.compute_ns),
                          share(time.overlapped_ns), share(time.exposed_ns), share(time.hidden_copies_ns),
                          share(time.exposed_copies_ns), share(time.idle_ns)});
  }
  return table;
}

// A table of the tasks that processes of their own played.
PageTable TasksTable(const traces::Summary& summary) {
  PageTable table{"Tasks, and how far their clocks were ahead of the first one's",
                  {"Task", "Process", "Clock ahead", "Known to"},
                  {}};
  for (const RunTask& task : summary.tasks) {
    if (task.process.empty()) continue;
    table.rows.push_back({task.name, task.process, SignedTimeText(static_cast<double>(task.clock_ahead_ns)),
                          TimeText(task.clock_uncertainty_ns)});
  }
  return table;
}

PageTable TrafficTable(const traces::Summary& summary) {
  PageTable table{"Traffic", {"From", "To", "Copies", "Bytes", "Time"}, {}};
  for (const traces::TrafficRow& row : summary.traffic) {
    if (table.rows.size() == kRowsOfATable) break;
    table.rows.push_back({row.src, row.dst, std::to_string(row.count),
                          row.bytes_known ? FormatBytes(row.bytes) : "?", TimeText(row.ns)});
  }
  return table;
}

PageTable WaitsTable(const traces::Waits& waits) {
  PageTable table{"What GPUs wait for, over the steps",
                  {"Device", "Window", "Idle in calls", "Host", "Streams", "Queued", "Edges", "Ranks",
                   "Collectives", "Transfer", "Waiting", "Last in"},
                  {}};
  for (const traces::DeviceWaits& device : waits.devices) {
    const auto share = [&](int64_t ns) {
      return PercentText(static_cast<double>(ns) /
                         static_cast<double>(std::max<int64_t>(1, device.window_ns)));
    };
    table.rows.push_back({device.label, TimeText(device.window_ns), share(device.in_calls_ns),
                          share(device.host_ns), share(device.for_streams_ns), share(device.queued_ns),
                          share(device.edges_ns), share(device.for_ranks_ns),
                          std::to_string(device.collectives), TimeText(device.transfer_ns),
                          TimeText(device.waiting_ns), std::to_string(device.last)});
  }
  return table;
}

// The page has one verdict, the summary's: of what GPUs wait for, "host-bound: GPU:0 waits ..", the reason.
std::string WaitsNote(const traces::Waits& waits) {
  const size_t colon = waits.verdict.find(": ");
  return "What holds it up: " +
         (colon == std::string::npos ? waits.verdict : waits.verdict.substr(colon + 2));
}

PageTable StragglersTable(const traces::Waits& waits) {
  PageTable table{
      "Whom the others wait for", {"Step", "Device", "Last to", "Collectives", "The others waited"}, {}};
  for (const traces::Straggler& straggler : waits.stragglers) {
    if (table.rows.size() == kRowsOfATable) break;
    table.rows.push_back({straggler.step < 0 ? "all" : std::to_string(straggler.step), straggler.label,
                          std::to_string(straggler.collectives), std::to_string(straggler.of),
                          TimeText(straggler.others_waited_ns)});
  }
  return table;
}

// The page of a trace in which nothing ran on a device.
PageTable RangesTable(const traces::Summary& summary) {
  PageTable table{"Ranges of the host", {"Time", "Calls", "Mean", "Longest", "Name"}, {}};
  for (const traces::OperationSum& sum : summary.nvtx_sums) {
    if (table.rows.size() == kRowsOfATable) break;
    table.rows.push_back({TimeText(sum.total), std::to_string(sum.count), TimeText(sum.average),
                          TimeText(sum.max), Shortened(sum.name, kName)});
  }
  return table;
}

PageSection SectionOf(traces::TraceReader* reader, const RunReference& reference,
                      const traces::TraceRunInfo& info, size_t slices) {
  PageSection section;
  section.heading = Describe(reference, info);
  traces::SummaryOptions options;
  options.idle_call = true;
  options.waits = slices > 0 && !reader->is_ours();  // of those that are loaded anyway
  const traces::Summary summary = traces::Summarize(*reader, info.id, options);
  section.verdict = summary.verdict;
  section.notes = summary.notes;
  if (summary.dropped > 0)
    section.notes.push_back(fmt::format("{} records were lost while recording", summary.dropped));
  section.advice = traces::AdviceOf(summary);
  section.tables = {TasksTable(summary),
                    DevicesTable(summary),
                    TableOf("GPU activities", summary.gpu_activities),
                    TableOf("Host activities", summary.host_activities),
                    TableOf("API calls", summary.api_calls),
                    TrafficTable(summary),
                    RangesTable(summary)};
  if (summary.waits && !summary.waits->devices.empty()) {
    if (!summary.waits->verdict.empty()) section.notes.push_back(WaitsNote(*summary.waits));
    section.tables.insert(section.tables.begin() + 2,
                          {WaitsTable(*summary.waits), StragglersTable(*summary.waits)});
  }
  if (slices > 0) section.timeline = traces::TimelineData(*reader, info.id, slices);
  return section;
}

PageTable OpsTable(std::string title, const RunDiff& diff) {
  PageTable table{std::move(title), {"B - A", "A", "B", "Device", "Op"}, {}};
  for (const OpDiff& op : diff.ops) {
    if (table.rows.size() == kRowsOfATable) break;
    table.rows.push_back({SignedTimeText(op.PathChange()), TimeText(op.a.ns), TimeText(op.b.ns),
                          op.a.devices.empty() ? op.b.devices : op.a.devices, Shortened(op.name, kName)});
  }
  return table;
}

std::vector<std::string> PartsRow(std::string run, const StepParts& parts, std::string change) {
  return {std::move(run),
          TimeText(parts.step_ns),
          TimeText(parts.compute_ns),
          TimeText(parts.transfer_ns),
          TimeText(parts.waiting_ns),
          TimeText(parts.contention_ns),
          std::move(change)};
}

// The page begins with every run in a row of one table, and the first beside each of the others, op by op.
PageSection ComparisonOf(const std::vector<RunReference>& runs) {
  PageSection section;
  section.heading = "The first run (A) beside the others (B)";
  PageTable all{
      "Mean step", {"Run", "Step", "Compute", "Transfer", "Waiting", "Contention", "Against A"}, {}};
  std::vector<PageTable> pairs;
  try {
    ProfiledRun a = ReadProfile(runs.front(), -1);
    const std::string name_a = Describe(runs.front(), a.info);
    all.rows.push_back(PartsRow(name_a, DiffRuns(a.profile, a.profile).parts_a, "A"));
    for (size_t i = 1; i < std::min(runs.size(), kRunsWithTimeline); ++i) {
      ProfiledRun b = ReadProfile(runs[i], -1);
      const RunDiff diff = MatchRuns({runs.front(), runs[i]}, &a, &b, -1).diff;
      const std::string name = Describe(runs[i], b.info), verdict = DiffVerdict(diff);
      const double change = diff.parts_a.step_ns > 0 ? diff.parts_b.step_ns / diff.parts_a.step_ns - 1 : 0;
      all.rows.push_back(PartsRow(
          name, diff.parts_b,
          SignedPercentText(change) + (CannotTell(diff.range_a, diff.range_b) ? ", cannot tell" : "")));
      if (i == 1) section.verdict = verdict;
      pairs.push_back(OpsTable(fmt::format("{}. {}", name, verdict), diff));
    }
  } catch (const Error& error) {
    // A run without activities, or one with too many, takes nothing from what the page says of the others.
    if (error.code() != Code::kFailedPrecondition && error.code() != Code::kResourceExhausted) throw;
    section.notes.push_back(fmt::format("The comparison ends here: {}", error.message()));
  }
  if (runs.size() > kRunsWithTimeline)
    section.notes.push_back(fmt::format("{} more runs are not compared", runs.size() - kRunsWithTimeline));
  section.tables.push_back(std::move(all));
  section.tables.insert(section.tables.end(), std::make_move_iterator(pairs.begin()),
                        std::make_move_iterator(pairs.end()));
  return section;
}

void AddCrossover(traces::TraceReader* reader, std::vector<PageSection>* sections) {
  if (!reader->is_ours()) return;
  const std::optional<sims::Sweep> sweep = study::SweepRuns(reader);
  if (!sweep) return;
  PageSection section;
  section.heading = "Crossover: the same runs with other links between GPUs, simulated";
  section.verdict = LeadersText(*sweep);
  section.svg = PlotOf(*sweep, "");
  for (const sims::SweepCrossing& crossing : sweep->crossings) {
    section.notes.push_back(fmt::format(
        "{} wins over {} above {}", sweep->curves[static_cast<size_t>(crossing.above)].name,
        sweep->curves[static_cast<size_t>(crossing.below)].name, FormatBandwidth(crossing.bandwidth)));
  }
  sections->push_back(std::move(section));
}

void WriteReport(const PageOptions& options) {
  const study::Cancellation::Watch in_order(&Interruption());
  std::vector<PageSection> sections;
  std::vector<RunReference> runs;
  size_t all = 0;
  std::vector<RunReference> chosen;
  for (const std::string& text : options.traces) {
    chosen.push_back(ParseRunChoice(text, 0));
    RequireNotRead(options.out, {chosen.back().path});
    all += chosen.back().run > 0 ? 1 : traces::TraceReader(AsTrace(chosen.back().path)).Runs().size();
  }
  if (all == 0) Throw(Code::kNotFound, "'{}' holds no run", options.traces.front());
  const size_t slices = kSlicesOfAPage / std::min(all, kRunsWithTimeline);
  for (const auto& [path, run] : chosen) {
    traces::TraceReader reader(AsTrace(path));
    const std::vector<traces::TraceRunInfo> infos =
        run > 0 ? std::vector<traces::TraceRunInfo>{reader.RunInfoOf(run)} : reader.Runs();
    for (const traces::TraceRunInfo& info : infos) {
      if (Interruption().flag().load()) Throw(Code::kCancelled, "the report was interrupted");
      const bool drawn = runs.size() < kRunsWithTimeline;
      runs.push_back({path, info.id});
      sections.push_back(SectionOf(&reader, runs.back(), info, drawn ? slices : 0));
    }
    if (run == 0) AddCrossover(&reader, &sections);
  }
  if (runs.size() > 1) sections.insert(sections.begin(), ComparisonOf(runs));
  OutputFile file(options.out);
  const std::string name = std::filesystem::path(options.traces.front()).filename().string();
  traces::WritePage(
      options.traces.size() == 1 ? name : fmt::format("{} and {} more", name, options.traces.size() - 1),
      sections, [&](std::string_view part) { file.Write(part); });
  file.Commit();
  PrintNote("{}\n", options.out);
}

}  // namespace

void AddReport(CLI::App* app) {
  auto* command = app->add_subcommand("report", "Write what traces say as one page of HTML, to pass on");
  auto options = std::make_shared<PageOptions>();
  command
      ->add_option(
          "traces", options->traces,
          "Traces of lanescope or Nsight Systems (SQLite), files that `import` takes; FILE:RUN: this run")
      ->required()
      ->expected(1, 100);
  command->add_option("-o,--output", options->out, "Page to write")->capture_default_str();
  AddExample(command, "lanescope report t.db -o report.html");
  command->callback([options] { WriteReport(*options); });
}

}  // namespace lanescope::cli
