#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/interrupt.h"
#include "cli/line_width.h"
#include "cli/prediction.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/unknown_report.h"
#include "cli/workload.h"
#include "core/error.h"
#include "core/recorder.h"
#include "sims/cost_model.h"
#include "sims/device_speed.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

struct SimulateOptions {
  std::string graph, strategy = "annotated", cost, trace, sweep, plot;
  MachineOptions machine;
  StepOptions step;
  PlaceOptions place;
  std::vector<std::string> set;
  int steps = 1;
  bool as_json = false, batch = false;
};

struct Model {
  std::unique_ptr<CostModel> measured;
  std::unique_ptr<CostModel> costs;  // `measured` at the devices' speeds
  const CostTable* table = nullptr;  // of `measured`; null: uncalibrated
  PredictionSettings settings;
  std::string origin;  // "calibrated on ..." or "uncalibrated"
};

Model LoadModel(const std::string& file, const Machine& machine, const std::vector<double>& speed) {
  Model model;
  if (file.empty()) {
    model.measured = std::make_unique<RooflineCost>();
    model.origin = "uncalibrated";
  } else {
    auto calibrated = std::make_unique<CalibratedCost>(ReadCostTable(file));
    model.table = &calibrated->table();
    model.settings = SettingsOf(*calibrated);
    model.origin = "calibrated on " + calibrated->table().calibrated_on;
    model.measured = std::move(calibrated);
  }
  model.costs = std::make_unique<CostAtSpeed>(*model.measured, machine, speed);
  return model;
}

json ResultJson(const Machine& machine, const Schedule& schedule, const Prediction& prediction,
                int64_t wall_ns) {
  json result = PredictionJson(machine, prediction);
  result["commands"] = schedule.commands.size();
  result["wall_ns"] = wall_ns;
  result["uncalibrated_share"] = prediction.uncalibrated_share();
  return result;
}

// JSON lines in, each a placement on top of the graph's own; JSON lines out.
void RunBatch(const Workload& workload, const Machine& machine, const Model& model) {
  const PlacedGraph base = Place(workload, "annotated", machine, *model.costs);
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.empty()) continue;
    const int64_t start = NowNs();
    try {
      const PlacedGraph placed{&workload, "batch",
                               ParsePlacement(line, workload.graph(), machine, base.placement)};
      const CompiledStep step = CompileStep(placed, machine);
      const Prediction prediction =
          Predict(workload.graph(), workload.info(), step.schedule, machine, *model.costs, model.settings);
      PrintJson(JsonText(ResultJson(machine, step.schedule, prediction, NowNs() - start)));
    } catch (const Error& error) {
      PrintJson(JsonText({{"failed", {{"code", CodeName(error.code())}, {"message", error.message()}}}}));
    }
    std::fflush(stdout);  // whoever sends the next line may first want this answer
  }
}

// What --strategy names, placed and compiled. The steps refer to the placed graphs.
struct Candidates {
  std::vector<PlacedGraph> placed;
  std::vector<CompiledStep> steps;
};

Candidates Prepare(const SimulateOptions& options, const Workload& workload, const Machine& machine,
                   const CostModel& costs) {
  Candidates candidates;
  for (const std::string& strategy : SplitAtCommas(options.strategy)) {
    candidates.placed.push_back(Place(workload, strategy, machine, costs, options.place));
  }
  for (const PlacedGraph& placed : candidates.placed)
    candidates.steps.push_back(CompileStep(placed, machine));
  return candidates;
}

Sweep SweepCandidates(const SimulateOptions& options, const Machine& machine, const Model& model,
                      const Candidates& candidates) {
  std::vector<SweepCandidate> rows;
  for (const CompiledStep& step : candidates.steps) {
    const Workload& workload = *step.placed->workload;
    rows.push_back({step.placed->strategy, &workload.graph(), &workload.info(), &step.schedule});
  }
  PredictionSettings settings = model.settings;
  settings.draws = 0;
  return RunSweep(machine, *model.costs, settings, rows, ParseSweep(options.sweep, machine));
}

void SimulateGraph(const SimulateOptions& options) {
  const Workload workload(options.graph, options.step, Unconfigured::kWholeGraph);
  Machine machine = options.machine.Load();
  std::vector<double> speed(machine.devices.size(), 1.0);
  for (const std::string& change : options.set) ApplyMachineChange(change, &machine, &speed);
  const Model model = LoadModel(options.cost, machine, speed);
  machine = AtSpeed(std::move(machine), speed);
  if (options.batch) return RunBatch(workload, machine, model);
  const int64_t start = NowNs();
  const Candidates candidates = Prepare(options, workload, machine, *model.costs);
  const CompiledStep& step = candidates.steps.front();
  const Prediction prediction =
      Predict(workload.graph(), workload.info(), step.schedule, machine, *model.costs, model.settings);
  const int64_t wall_ns = NowNs() - start;
  const auto unknown = FindUnknownWork(workload.graph(), workload.info(), step.schedule);
  if (!options.trace.empty()) {
    const EndsInOrder in_order;
    TraceWriter writer(options.trace, NewTrace::kWhenClosed);
    WritePrediction(&writer, step, machine, prediction, options.steps, model.table, model.origin, false);
    writer.Close();
  }
  std::optional<Sweep> sweep;
  if (!options.sweep.empty()) sweep = SweepCandidates(options, machine, model, candidates);
  if (options.as_json) {
    json result = ResultJson(machine, step.schedule, prediction, wall_ns);
    result["unknown"] = UnknownWorkJson(unknown);
    if (sweep.has_value()) result["sweep"] = SweepJson(*sweep);
    PrintJson(JsonText(result));
  } else {
    PrintPrediction(workload.name(), step.placed->strategy, machine, step.schedule, prediction, model.origin);
    PrintUnknownWork(unknown);
    if (sweep.has_value()) PrintSweep(*sweep);
  }
  if (options.plot.empty()) return;
  WritePlot(options.plot, *sweep, fmt::format("Step time of {} by link bandwidth", workload.name()));
  if (!options.as_json) Print("plot: {}\n", options.plot);
}

void Check(const SimulateOptions& options) {
  if (options.sweep.empty() && options.strategy.find(',') != std::string::npos) {
    throw CLI::ValidationError("--strategy",
                               "several strategies need --sweep; `compare --no-run` shows them side by side");
  }
  if (options.sweep.empty() && !options.plot.empty()) throw CLI::ValidationError("--plot", "needs --sweep");
}

}  // namespace

void AddSimulate(CLI::App* app) {
  auto* command = app->add_subcommand("simulate", "Predict a step without devices");
  auto options = std::make_shared<SimulateOptions>();
  command->add_option("graph", options->graph, "GraphDef file (.pb, .pbtxt)")->required();
  command
      ->add_option("--strategy", options->strategy,
                   StrategyNames() + "; with --sweep several, with commas between")
      ->capture_default_str();
  command->add_option("--cost", options->cost,
                      "Cost model (see calibrate); default: the machine file's rates, uncalibrated");
  command
      ->add_option("--set", options->set,
                   "Change the machine: link.bandwidth=10GB/s, link.latency=5us, GPU:1.speed=0.5")
      ->check(CheckMachineChange)
      ->allow_extra_args(false);
  command
      ->add_option("--sweep", options->sweep,
                   "link.bandwidth=LOW..HIGH: simulate over this range of links between GPUs")
      ->check(CheckSweep);
  command->add_option("--plot", options->plot, "Write the sweep as FILE.svg")->check(CheckPlotPath);
  command->add_option("--trace", options->trace, "Append the simulated run to this trace");
  command->add_option("--steps", options->steps, "Steps in the trace")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  options->machine.Add(command);
  options->step.Add(command);
  options->place.Add(command);
  auto* batch = command->add_flag("--batch", options->batch,
                                  "Read placements as JSON lines from stdin, print one JSON line for each");
  batch->excludes("--sweep")->excludes("--trace");
  command->add_flag("--json", options->as_json, "Print JSON");
  AddFullNames(command);
  AddExample(command, "lanescope simulate samples/graphs/deepconn_dual.pbtxt --set link.latency=9us");
  command->callback([options] {
    Check(*options);
    SimulateGraph(*options);
  });
}

}  // namespace lanescope::cli
