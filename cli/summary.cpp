// SPDX-License-Identifier: Apache-2.0
#include "traces/report/summary.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/run_pair.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/machine.h"
#include "traces/read/trace_reader.h"

namespace lanescope::cli {
namespace {

struct SummaryArguments {
  std::string trace;
  int run = 0;
  int step = -1;
  std::string by = "kernel", format = "nvprof", link, machine;
  int top = 0;
  bool as_json = false, as_csv = false;
};

// The bandwidth of links, where an option says it.
traces::LinkRate GivenLink(const SummaryArguments& options) {
  if (options.link.empty() && options.machine.empty()) return {};
  if (options.by != "rank") Throw(Code::kInvalidArgument, "--link and --machine are for --by rank");
  traces::LinkRate rate;
  if (!options.machine.empty()) {
    rate = traces::LinkRateOf(ReadMachine(options.machine), options.machine);
    if (rate.within <= 0)
      Throw(Code::kInvalidArgument, "{} has no link between GPUs; --link RATE says one", options.machine);
  }
  if (!options.link.empty()) rate = {ParseBandwidth(options.link), 0, 0, "--link"};
  return rate;
}

// How its commands on physical GPUs were timed; empty where it has none.
std::string TimingText(const traces::TraceRunInfo& run) {
  if (run.command_timing == CommandTiming::kThreads) return "";
  if (run.command_timing == CommandTiming::kProfiler) return ", GPUs by a profiler";
  return run.pair_ns == 0 ? ", GPUs by pairs of events"
                          : fmt::format(", GPUs by pairs of events less {} each", TimeText(run.pair_ns));
}

// Without --run: every run of the file, or for JSON the last one.
void PrintSummary(const SummaryArguments& options) {
  const RunReference chosen = ParseRunChoice(options.trace, options.run);
  traces::TraceReader reader(AsTrace(chosen.path));
  const std::vector<traces::TraceRunInfo> runs =
      chosen.run > 0 ? std::vector<traces::TraceRunInfo>{reader.RunInfoOf(chosen.run)} : reader.Runs();
  if (runs.empty()) Throw(Code::kNotFound, "'{}' holds no run", chosen.path);
  lanescope::traces::SummaryOptions what;
  what.step = options.step;
  what.ranges = options.by == "nvtx" || options.by == "module" || options.by == "line";
  if (options.by == "module") what.place = traces::ProgramPlace::kModule;
  if (options.by == "line") what.place = traces::ProgramPlace::kLine;
  what.operations = options.format == "nsys";
  what.waits = options.by == "rank";
  what.link = GivenLink(options);
  if (options.as_json) {
    PrintJson(traces::SummaryJson(traces::Summarize(reader, runs.back().id, what)));
    return;
  }
  const traces::SummaryLayout layout{what.operations, LineWidth(), options.top};
  for (const traces::TraceRunInfo& run : runs) {
    const traces::Summary summary = traces::Summarize(reader, run.id, what);
    if (options.as_csv) {
      PrintText(traces::SummaryCsv(summary, layout, run.id == runs.front().id));
      continue;
    }
    Print("Run {}: {}{}, {}{}{}{}\n", run.id, run.graph.empty() ? chosen.path : run.graph,
          run.strategy.empty() ? "" : " " + run.strategy, traces::OriginOfTimes(run),
          summary.hosts.empty() ? "" : fmt::format(" on {}", fmt::join(summary.hosts, ", ")), TimingText(run),
          run.complete ? "" : ", incomplete");
    PrintText(traces::SummaryText(summary, layout) + "\n");
  }
}

}  // namespace

void AddSummary(CLI::App* app) {
  auto* command = app->add_subcommand("summary", "Show what the runs of a trace spent their time on");
  auto options = std::make_shared<SummaryArguments>();
  command
      ->add_option("trace", options->trace,
                   "Trace of lanescope or Nsight Systems (SQLite), or a file that `import` takes; FILE:RUN: "
                   "this run")
      ->required();
  command->add_option("--run", options->run, "Only this run")->check(CLI::Range(1, 65535));
  command->add_option("--step", options->step, "Only this step; of other tools' traces by NVTX ranges")
      ->check(CLI::Range(0, 1'000'000'000));
  command
      ->add_option(
          "--by", options->by,
          "nvtx, module, line: also what was launched in which NVTX range, by which module or line of "
          "Python; rank: also what GPUs wait for")
      ->check(CLI::IsMember({"kernel", "nvtx", "module", "line", "rank"}))
      ->capture_default_str();
  auto* link = command->add_option("--link", options->link,
                                   "With --by rank: what a GPU's links to others carry each way (300GB/s)");
  command
      ->add_option("--machine", options->machine, "With --by rank: machine file that says what links carry")
      ->excludes(link);
  command->add_option("--format", options->format, "Tables of nvprof or of nsys")
      ->check(CLI::IsMember({"nvprof", "nsys"}))
      ->capture_default_str();
  command->add_option("--top", options->top, "Rows of each table of activities; 0: all")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  auto* json = command->add_flag("--json", options->as_json, "Print JSON (of --run, or of the last run)");
  command
      ->add_flag("--csv", options->as_csv, "Print the activities, sums or ranges as comma-separated values")
      ->excludes(json);
  AddLineWidth(command);
  AddExample(command, "lanescope summary t.db --run 1");
  command->callback([options] { PrintSummary(*options); });
}

}  // namespace lanescope::cli
