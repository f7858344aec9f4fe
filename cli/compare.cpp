// SPDX-License-Identifier: Apache-2.0
// The command `compare`: its options and what it prints at the end.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/comparison_report.h"
#include "cli/graph_choice.h"
#include "cli/interrupt.h"
#include "cli/line_width.h"
#include "cli/options.h"
#include "cli/placement_log.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sweep_report.h"
#include "core/base/error.h"
#include "core/base/units.h"
#include "core/strategies/strategy.h"
#include "study/compare/comparer.h"
#include "study/compare/comparison_json.h"
#include "study/job/job.h"
#include "study/job/mpi.h"
#include "study/measure/run_capture.h"

namespace lanescope::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> graphs;
  std::vector<std::string> strategies;
  std::string cost, sweep, plot, reference_step;
  std::string profile{study::kAutomaticCapture};
  MachineOptions machine;
  StepOptions step;
  PlaceOptions place;
  study::ComparisonRequest request;
  bool no_run = false, log = false, details = false, as_json = false;
};

int64_t ParseReferenceStep(const CompareOptions& options) {
  if (options.reference_step.empty()) return 0;
  if (options.no_run)
    Throw(Code::kInvalidArgument, "--reference-step needs a measurement; leave out --no-run");
  const int64_t reference = ParseDuration(options.reference_step);
  if (reference <= 0) Throw(Code::kInvalidArgument, "--reference-step must be a positive time");
  return reference;
}

study::ComparisonRequest RequestOf(const CompareOptions& options, const Machine& machine) {
  study::ComparisonRequest request = options.request;
  request.machine = machine;
  if (!options.sweep.empty()) request.sweep = ParseSweep(options.sweep, machine);
  for (const std::string& graph : options.graphs)
    request.graphs.push_back(ParseGraphChoice(graph, options.strategies));
  request.reference_step_ns = ParseReferenceStep(options);
  if (!options.cost.empty()) request.costs = sims::ReadCostTable(options.cost);
  request.step = options.step.On(machine);
  request.place = options.place;
  request.run = !options.no_run;
  request.cancellation = &Interruption();
  request.note = NoteLine;
  return request;
}

// A row that is missing in the table makes the command fail, after everything else is printed.
void RequireAllRows(const study::Comparison& comparison) {
  const auto has_failed = [](const study::ComparisonRow& row) { return row.failed.has_value(); };
  const auto& rows = comparison.rows;
  const auto first = std::find_if(rows.begin(), rows.end(), has_failed);
  if (first == rows.end()) return;
  const auto failed = std::count_if(rows.begin(), rows.end(), has_failed);
  Throw(Code::kFailedPrecondition, "{} of {} rows could not be compared; {} says: {}", failed, rows.size(),
        first->label(), first->failed->message);
}

void Report(const CompareOptions& options, const study::Comparison& comparison) {
  if (options.as_json) {
    PrintJson(JsonText(study::ComparisonJson(comparison)));
  } else {
    PrintComparison(comparison, options.details);
    if (!options.sweep.empty() && comparison.sweep.has_value()) PrintSweep(*comparison.sweep);
  }
  if (!options.plot.empty() && comparison.sweep.has_value()) {
    WritePlot(options.plot, *comparison.sweep, "Step time by link bandwidth");
    if (!options.as_json) Print("plot: {}\n", options.plot);
  }
  RequireAllRows(comparison);
}

void CompareRows(const CompareOptions& options) {
  study::RunCapture capture(study::CaptureWishOf(options.profile, !options.no_run));
  study::Job job(study::WorldTransport());
  const Machine machine = job.JoinGpus(options.machine.Load(), NoteLine);
  const auto log = [&](const std::string& lines) { options.as_json ? PrintNotes(lines) : PrintText(lines); };
  study::ComparisonRequest request = RequestOf(options, machine);
  request.job = &job;
  request.capture = &capture;
  request.step.joint_launches = job.InAll(request.step.joint_launches);
  if (!job.is_first()) {
    request.note = nullptr;
    if (!options.no_run) study::Comparer(std::move(request)).Run();
    return;
  }
  if (options.log) {
    request.on_placed = [&](const study::ComparisonRow& row, const std::vector<NodeId>& order) {
      log(Printable(row.label()) + "\n" + PlacementLog(row.placed, machine, order));
    };
  }
  study::Comparer comparer(std::move(request));
  if (options.log) log(DeviceMapping(machine));
  Report(options, comparer.Run());
}

}  // namespace

void AddCompare(CLI::App* app) {
  auto* command =
      app->add_subcommand("compare", "Run and simulate several placements, print which is faster and why");
  auto options = std::make_shared<CompareOptions>();
  command
      ->add_option("graphs", options->graphs,
                   std::string(kGraphHelp) + ", one or more; GRAPH:STRATEGY,... gives one its own strategies")
      ->required();
  command
      ->add_option("--strategies", options->strategies,
                   "Strategies of the graphs that have none of their own")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--trace", options->request.trace, "Trace file that all runs are appended to");
  command->add_option("--steps", options->request.steps, "Steps of a row in a round")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  command->add_option("--rounds", options->request.rounds, "Rounds, interleaved over the rows")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command
      ->add_option("--repeats", options->request.repeats,
                   "Repeats of the whole experiment that the rounds are dealt to; each has its own error")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_option("--warmup", options->request.warmup, "Steps of a row before that")
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
  command->add_flag("--ablate", options->request.ablate,
                    "Print how each effect of the model changes each prediction");
  command->add_flag("--no-run", options->no_run, "Simulate only");
  options->machine.Add(command);
  options->step.Add(command, study::Unconfigured::kRefuse);
  AddGpuOptions(command, &options->request.settings.devices);
  AddProfileOption(command, &options->profile);
  options->place.Add(command);
  options->place.AddWire(command);
  command->add_flag(
      "--log-device-placement", options->log,
      "Print the GPUs and every row's nodes, as TensorFlow does (with --json on standard error)");
  command->add_flag("--details", options->details,
                    "Print errors, waits for input, copies, devices and what takes longest, too");
  command->add_flag("--json", options->as_json, "Print JSON");
  AddFullNames(command);
  AddExample(command, "lanescope compare samples/graphs/polynomial.pbtxt:single,alternating");
  command->callback([options] { CompareRows(*options); });
}

}  // namespace lanescope::cli
