// The command `compare`: its options and what it prints at the end.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/comparer.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/report.h"
#include "core/error.h"

namespace lanescope::cli {
namespace {

// What is missing in the table makes the command fail, after everything else is printed.
void RequireAllRows(const Comparison& comparison) {
  const auto has_failed = [](const ComparisonRow& row) { return row.failed.has_value(); };
  const auto& rows = comparison.rows;
  const auto first = std::find_if(rows.begin(), rows.end(), has_failed);
  if (first == rows.end()) return;
  const auto failed = std::count_if(rows.begin(), rows.end(), has_failed);
  Throw(Code::kFailedPrecondition, "{} of {} rows could not be compared; {} says: {}", failed, rows.size(),
        first->label(), first->failed->message);
}

void CompareRows(const CompareOptions& options) {
  Comparer comparer(options);
  const Comparison comparison = comparer.Run();
  if (options.as_json) {
    PrintJson(JsonText(ComparisonJson(comparison)));
  } else {
    PrintComparison(comparison);
    if (!options.sweep.empty() && comparison.sweep.has_value()) PrintSweep(*comparison.sweep);
    Print("\n{}\n", comparison.verdict);
  }
  if (!options.plot.empty() && comparison.sweep.has_value()) {
    WritePlot(options.plot, *comparison.sweep, "Step time by link bandwidth");
    if (!options.as_json) Print("plot: {}\n", options.plot);
  }
  RequireAllRows(comparison);
}

}  // namespace

void AddCompare(CLI::App* app) {
  auto* command =
      app->add_subcommand("compare", "Run and simulate several placements, print which is faster and why");
  auto options = std::make_shared<CompareOptions>();
  command
      ->add_option("graphs", options->graphs,
                   "GraphDef files; GRAPH:STRATEGY,... gives one its own strategies")
      ->required();
  command
      ->add_option("--strategies", options->strategies,
                   "Strategies of the graphs that have none of their own")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--trace", options->trace, "Trace file that all runs are appended to");
  command->add_option("--steps", options->steps, "Steps of a row in a round")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  command->add_option("--rounds", options->rounds, "Rounds, interleaved over the rows")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command
      ->add_option("--repeats", options->repeats,
                   "Repeats of the whole experiment that the rounds are dealt to; each has its own error")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_option("--warmup", options->warmup, "Steps of a row before that")
      ->capture_default_str()
      ->check(CLI::Range(0, 10000));
  command->add_option("--cost", options->cost,
                      "Cost model to predict with, instead of one calibrated on the first row");
  command->add_option(
      "--reference-step", options->reference_step,
      "GPU time of a step of the first row on the machine that the links are of: links are slowed to match");
  command
      ->add_option("--sweep", options->sweep,
                   "link.bandwidth=LOW..HIGH: simulate over this range and print where rows cross")
      ->check(CheckSweep);
  command->add_option("--plot", options->plot, "Write the sweep as FILE.svg")->check(CheckPlotPath);
  command->add_flag("--no-run", options->no_run, "Simulate only");
  options->machine.Add(command);
  options->step.Add(command);
  options->step.AddGpu(command);
  options->place.Add(command);
  command->add_flag(
      "--log-device-placement", options->log,
      "Print the GPUs and every row's nodes, as TensorFlow does (with --json on standard error)");
  command->add_flag("--json", options->as_json, "Print JSON");
  AddFullNames(command);
  AddExample(command, "lanescope compare samples/graphs/polynomial.pbtxt:single,alternating");
  command->callback([options] { CompareRows(*options); });
}

}  // namespace lanescope::cli
