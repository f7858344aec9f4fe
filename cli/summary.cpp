#include "traces/summary.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "core/error.h"
#include "traces/trace_reader.h"

namespace lanescope::cli {
namespace {

struct Options {
  std::string trace;
  int run = 0;
  bool as_json = false;
};

// Without --run: every run of the file, or for JSON the last one.
void Run(const Options& options) {
  std::vector<TraceRunInfo> runs;
  {
    TraceReader reader(options.trace);
    runs = options.run > 0 ? std::vector<TraceRunInfo>{reader.RunInfoOf(options.run)} : reader.Runs();
  }
  if (runs.empty()) Throw(Code::kNotFound, "'{}' holds no run", options.trace);
  if (options.as_json) {
    fmt::print("{}\n", SummaryJson(Summarize(options.trace, runs.back().id)));
    return;
  }
  for (const TraceRunInfo& run : runs) {
    fmt::print("Run {}: {}{}{}{}\n", run.id, run.graph, run.strategy.empty() ? "" : " " + run.strategy,
               run.simulated  ? ", simulated"
               : run.emulated ? ", measured on emulated devices"
                              : ", measured",
               run.complete ? "" : ", incomplete");
    fmt::print("{}\n", SummaryText(Summarize(options.trace, run.id)));
  }
}

}  // namespace

void AddSummary(CLI::App* app) {
  auto* command = app->add_subcommand("summary", "Show what the runs of a trace spent their time on");
  auto options = std::make_shared<Options>();
  command->add_option("trace", options->trace, "Trace of lanescope, or SQLite export of Nsight Systems")
      ->required();
  command->add_option("--run", options->run, "Only this run")->check(CLI::Range(1, 65535));
  command->add_flag("--json", options->as_json, "Print JSON (of --run, or of the last run)");
  command->callback([options] { Run(*options); });
}

}  // namespace lanescope::cli
