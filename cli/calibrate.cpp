#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/run_pair.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/machine/machine.h"
#include "sims/cost_table.h"
#include "study/calibration.h"
#include "study/this_machine.h"
#include "traces/read/trace_reader.h"

namespace lanescope::cli {
namespace {

struct CalibrateOptions {
  std::string trace, output;
  int run = 0;
  int warmup = 0;
  bool no_interference = false;
};

void CalibrateCosts(const CalibrateOptions& options) {
  traces::TraceReader reader(options.trace);
  int run = options.run;
  if (run == 0) {
    for (const traces::TraceRunInfo& info : reader.Runs()) {
      if (!info.simulated && info.complete && run == 0) run = info.id;
    }
    if (run == 0)
      Throw(Code::kNotFound, "'{}' holds no complete measured run to calibrate from", options.trace);
  }
  const traces::TraceRun trace = reader.ReadRun(run);
  if (trace.info.simulated)
    Throw(Code::kInvalidArgument, "run {} is simulated; a cost model needs a measured run", run);
  if (trace.info.machine_json.empty())
    Throw(Code::kInvalidArgument, "run {} does not say on which machine it ran", run);
  NoteInferredQueues(trace);
  const Machine machine = ParseMachine(trace.info.machine_json);
  const sims::CalibrationInput input = study::SamplesOf(trace, machine, options.warmup);
  if (input.ops.empty()) {
    Throw(
        Code::kInvalidArgument, "run {} has no measured ops {}; run more steps, or lower --warmup", run,
        options.warmup > 0 ? fmt::format("after {} steps of warm-up", options.warmup) : "to calibrate from");
  }
  const bool measures = !options.no_interference && study::IsEmulated(machine);
  study::MachineMeasurement measured;
  if (measures) {
    PrintNote("measuring links and interference ...\n");
    measured = study::MeasureMachine(machine, &Interruption());
  }
  const sims::CostTable table =
      study::FitCosts(input, measures ? &measured : nullptr, machine,
                      fmt::format("run {} ({} {})", run, trace.info.graph, trace.info.strategy));
  const std::string json = sims::CostTableToJson(table);
  if (options.output.empty()) {
    PrintJson(json);
    return;
  }
  WriteFile(options.output, json + "\n");
  Print("{}: {} ops calibrated on run {} ({} {})\n", options.output, table.launches.size(), run,
        trace.info.graph, trace.info.strategy);
}

}  // namespace

void AddCalibrate(CLI::App* app) {
  auto* command = app->add_subcommand("calibrate", "Fit a cost model to a measured run");
  auto options = std::make_shared<CalibrateOptions>();
  command->add_option("trace", options->trace, "Trace file")->required();
  command->add_option("--run", options->run, "Measured run; default: the first")->check(CLI::Range(1, 65535));
  command->add_option("--warmup", options->warmup, "Steps at the beginning that do not count")
      ->check(CLI::Range(0, 1000000));
  command->add_option("-o,--output", options->output, "Cost file to write; default: standard output");
  command->add_flag("--no-microbenchmarks", options->no_interference,
                    "Leave out links and interference of this machine");
  AddExample(command, "lanescope calibrate t.db -o cost.json");
  command->callback([options] { CalibrateCosts(*options); });
}

}  // namespace lanescope::cli
