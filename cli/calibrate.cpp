// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_width.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/run_pair.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/machine/machine.h"
#include "core/machine/tasks.h"
#include "sims/cost/cost_table.h"
#include "sims/fit/step_samples.h"
#include "study/job/mpi.h"
#include "study/job/this_machine.h"
#include "study/measure/handoff_chain.h"
#include "study/measure/measure_machine.h"
#include "study/predict/calibration.h"
#include "study/predict/missing_costs.h"
#include "traces/read/trace_reader.h"

namespace lanescope::cli {
namespace {

struct CalibrateOptions {
  std::vector<std::string> traces;
  std::string output, graph;
  int run = 0;
  int warmup = 0;
  bool no_interference = false, microbench = false;
};

// The asked-for run, or the first that was measured to its end.
traces::TraceRun ReadMeasuredRun(const std::string& path, int run) {
  traces::TraceReader reader(path);
  if (run == 0) {
    for (const traces::TraceRunInfo& info : reader.Runs()) {
      if (!info.simulated && info.complete && run == 0) run = info.id;
    }
    if (run == 0) Throw(Code::kNotFound, "'{}' holds no complete measured run to calibrate from", path);
  }
  traces::TraceRun trace = reader.ReadRun(run);
  if (trace.info.simulated)
    Throw(Code::kInvalidArgument, "run {} is simulated; a cost model needs a measured run", run);
  if (trace.info.machine_json.empty())
    Throw(Code::kInvalidArgument, "run {} does not say on which machine it ran", run);
  if (!trace.info.complete) PrintNote("run {} was not measured to its end\n", run);
  return trace;
}

// `file`: empty where there is one alone.
std::string NameOf(const std::string& file, const traces::TraceRun& run) {
  return fmt::format("{}run {} ({} {})", file.empty() ? "" : file + " ", run.info.id, run.info.graph,
                     run.info.strategy);
}

// Samples of one run a trace; the gaps are those of the first.
struct Calibration {
  Machine machine;
  study::KeptCosts kept;  // of the first trace
  sims::CalibrationInput input;
  std::string runs;  // for people
};
Calibration ReadSamples(const CalibrateOptions& options) {
  Calibration calibration;
  std::string machine_json;
  for (const std::string& path : options.traces) {
    const traces::TraceRun run = ReadMeasuredRun(path, options.run);
    const bool first = calibration.runs.empty();
    if (first) {
      machine_json = run.info.machine_json;
      calibration.machine = ParseMachine(machine_json);
      traces::TraceReader reader(path);
      calibration.kept = study::FindKeptCosts(&reader, machine_json);
    } else if (run.info.machine_json != machine_json) {
      Throw(Code::kInvalidArgument,
            "'{}' is of another machine than '{}'; calibrate on traces of one machine", path,
            options.traces.front());
    }
    sims::CalibrationInput input = study::SamplesOf(run, calibration.machine, options.warmup);
    if (input.ops.empty()) {
      Throw(Code::kInvalidArgument, "run {} has no measured ops {}; run more steps, or lower --warmup",
            run.info.id,
            options.warmup > 0 ? fmt::format("after {} steps of warm-up", options.warmup)
                               : "to calibrate from");
    }
    if (first) {
      calibration.input = std::move(input);
    } else {
      sims::AddSamples(input, &calibration.input);
    }
    calibration.runs += (first ? "" : ", ") + NameOf(options.traces.size() > 1 ? path : "", run);
  }
  return calibration;
}

std::string_view BasisText(CostBasis basis) {
  switch (basis) {
    case CostBasis::kMeasured:
      return "measured";
    case CostBasis::kFitted:
      return "the same op in other sizes";
    case CostBasis::kRates:
      return "the machine's rates";
    case CostBasis::kExtrapolated:
      return "other ops";
    case CostBasis::kAssumed:
      return "rates that nobody gave";
    case CostBasis::kNothing:
      return "nothing";
  }
  return "";
}

void PrintMissing(const std::string& graph, const std::vector<study::MissingCost>& missing) {
  if (missing.empty()) {
    PrintNote("{}: every op is calibrated\n", graph);
    return;
  }
  TextTable table;
  table.Number("Launches").Number("Time").Text("Goes by").Name("Op");
  for (const study::MissingCost& cost : missing) {
    table.Row({std::to_string(cost.launches), TimeText(static_cast<double>(cost.ns)),
               std::string(BasisText(cost.basis)), cost.signature});
  }
  PrintNote("{}: not calibrated, a step\n", graph);
  PrintNotes(table.Take(LineWidth()));
}

// All ranks call it, the first one with what it has read; empty: nothing is to be measured. Where the machine
// has a task for each they measure their own, else the first one measures as if it were alone.
study::MachineMeasurement MeasureTogether(const std::string& machine_of_first) {
  const Ranks& ranks = study::WorldRanks();
  const std::string machine_json = ranks.Share(machine_of_first).front();
  if (machine_json.empty()) return {};
  if (ranks.is_first()) PrintNote("measuring links and interference ...\n");
  const Machine machine = ParseMachine(machine_json);
  if (ranks.size > 1 && TasksOf(machine).size() == ranks.size) {
    return study::MeasureMachineOf(machine, study::WorldTransport(), &Interruption(),
                                   ranks.is_first() ? NoteLine : study::Notes());
  }
  return ranks.is_first() ? study::MeasureMachine(machine, &Interruption()) : study::MachineMeasurement();
}

void CalibrateCosts(const CalibrateOptions& options) {
  // Traces hold what all ranks did: the first one reads them.
  if (!study::WorldRanks().is_first()) {
    MeasureTogether("");
    return;
  }
  RequireNotRead(options.output, options.traces);
  RequireNotRead(options.output, {options.graph});
  Calibration calibration = ReadSamples(options);
  std::optional<study::Workload> workload;
  if (!options.graph.empty()) {
    study::WorkloadOptions step;
    step.unconfigured = study::Unconfigured::kWholeGraph;
    step.machine = &calibration.machine;
    workload.emplace(options.graph, step);
  }
  const bool measures = !options.no_interference && study::IsEmulated(calibration.machine);
  study::MachineMeasurement measured = MeasureTogether(measures ? MachineToJson(calibration.machine) : "");
  if (measures) measured.handoffs = study::MeasureHandoffs(calibration.machine, &Interruption());
  // Elsewhere than on the machine of the trace nobody can measure what its microbenchmarks did.
  const bool takes_kept = !options.no_interference && !measures && calibration.kept.run > 0;
  if (!options.no_interference && !measures && !takes_kept)
    PrintNote(
        "links and interference are not in the trace: calibrate on one of compare, which measures them\n");
  const auto fit = [&] {
    if (takes_kept)
      return study::FitCosts(calibration.input, calibration.kept, calibration.machine, calibration.runs);
    return study::FitCosts(calibration.input, measures ? &measured : nullptr, calibration.machine,
                           calibration.runs);
  };
  sims::CostTable table = fit();
  if (workload.has_value()) {
    auto missing = study::FindMissingCosts(*workload, calibration.machine, table);
    if (options.microbench && !missing.empty()) {
      PrintNote("measuring {} ops ...\n", missing.size());
      study::MissingMeasurement found =
          study::MeasureMissing(*workload, calibration.machine, missing, &Interruption());
      calibration.input.ops.insert(calibration.input.ops.end(), found.samples.begin(), found.samples.end());
      table = fit();
      missing = study::FindMissingCosts(*workload, calibration.machine, table);
    }
    PrintMissing(workload->name(), missing);
  }
  const std::string json = sims::CostTableToJson(table);
  if (options.output.empty()) {
    PrintJson(json);
    return;
  }
  WriteFile(options.output, json + "\n");
  Print("{}: {} ops calibrated on {}\n", options.output, table.launches.size(), table.calibrated_on);
}

}  // namespace

void AddCalibrate(CLI::App* app) {
  auto* command = app->add_subcommand("calibrate", "Fit a cost model to a measured run");
  auto options = std::make_shared<CalibrateOptions>();
  command->add_option("traces", options->traces, "Trace files of one machine; gaps are taken from the first")
      ->required();
  command->add_option("--run", options->run, "Measured run, of every trace; default: the first")
      ->check(CLI::Range(1, 65535));
  command->add_option("--warmup", options->warmup, "Steps at the beginning that do not count")
      ->check(CLI::Range(0, 1000000));
  command->add_option("-o,--output", options->output, "Cost file to write; default: standard output");
  command->add_flag("--no-microbenchmarks", options->no_interference,
                    "Leave out links and interference, of this machine or as the trace keeps them");
  auto* graph =
      command->add_option("--for", options->graph, "Say which ops of this graph are not calibrated");
  command->add_flag("--microbench", options->microbench, "Measure those that can run by themselves, too")
      ->needs(graph);
  AddExample(command, "lanescope calibrate t.db -o cost.json");
  command->callback([options] { CalibrateCosts(*options); });
}

}  // namespace lanescope::cli
