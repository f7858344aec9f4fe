// The subcommand `report`: what a trace says, as a page to pass on.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/run_pair.h"
#include "cli/sweep_report.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/runs/run_diff.h"
#include "study/trace_sweep.h"
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

PageTable TrafficTable(const traces::Summary& summary) {
  PageTable table{"Traffic", {"From", "To", "Copies", "Bytes", "Time"}, {}};
  for (const traces::TrafficRow& row : summary.traffic) {
    if (table.rows.size() == kRowsOfATable) break;
    table.rows.push_back(
        {row.src, row.dst, std::to_string(row.count), FormatBytes(row.bytes), TimeText(row.ns)});
  }
  return table;
}

PageSection SectionOf(traces::TraceReader* reader, const RunReference& reference,
                      const traces::TraceRunInfo& info, size_t slices) {
  PageSection section;
  section.heading = Describe(reference, info);
  const traces::Summary summary = traces::Summarize(*reader, info.id);
  section.verdict = summary.verdict;
  section.notes = summary.notes;
  if (summary.dropped > 0)
    section.notes.push_back(fmt::format("{} records were lost while recording", summary.dropped));
  section.advice = traces::AdviceOf(summary);
  section.tables = {DevicesTable(summary), TableOf("GPU activities", summary.gpu_activities),
                    TableOf("Host activities", summary.host_activities),
                    TableOf("API calls", summary.api_calls), TrafficTable(summary)};
  if (slices > 0) section.timeline = traces::TimelineData(reader->ReadRun(info.id), slices);
  return section;
}

// The first run beside each of the others.
void AddComparisons(const std::vector<RunReference>& runs, std::vector<PageSection>* sections) {
  if (runs.size() < 2) return;
  PageSection section;
  section.heading = "The first run (A) beside the others (B)";
  const ProfiledRun a = ReadProfile(runs.front(), -1);
  for (size_t i = 1; i < std::min(runs.size(), kRunsWithTimeline); ++i) {
    const ProfiledRun b = ReadProfile(runs[i], -1);
    const RunDiff diff = DiffRuns(a.profile, b.profile);
    PageTable table{fmt::format("{}. {}", Describe(runs[i], b.info), DiffVerdict(diff)),
                    {"B - A", "A", "B", "Device", "Op"},
                    {}};
    for (const OpDiff& op : diff.ops) {
      if (table.rows.size() == kRowsOfATable) break;
      table.rows.push_back({SignedTimeText(op.PathChange()), TimeText(op.a.ns), TimeText(op.b.ns),
                            op.a.devices.empty() ? op.b.devices : op.a.devices, Shortened(op.name, kName)});
    }
    section.tables.push_back(std::move(table));
  }
  sections->push_back(std::move(section));
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
  for (const std::string& path : options.traces) all += traces::TraceReader(AsTrace(path)).Runs().size();
  if (all == 0) Throw(Code::kNotFound, "'{}' holds no run", options.traces.front());
  const size_t slices = kSlicesOfAPage / std::min(all, kRunsWithTimeline);
  for (const std::string& path : options.traces) {
    traces::TraceReader reader(AsTrace(path));
    for (const traces::TraceRunInfo& info : reader.Runs()) {
      if (Interruption().flag().load()) Throw(Code::kCancelled, "the report was interrupted");
      const bool drawn = runs.size() < kRunsWithTimeline;
      runs.push_back({path, info.id});
      sections.push_back(SectionOf(&reader, runs.back(), info, drawn ? slices : 0));
    }
    AddCrossover(&reader, &sections);
  }
  AddComparisons(runs, &sections);
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
      ->add_option("traces", options->traces,
                   "Traces of lanescope, of Nsight Systems (SQLite) or of PyTorch's profiler")
      ->required()
      ->expected(1, 100);
  command->add_option("-o,--output", options->out, "Page to write")->capture_default_str();
  AddExample(command, "lanescope report t.db -o report.html");
  command->callback([options] { WriteReport(*options); });
}

}  // namespace lanescope::cli
