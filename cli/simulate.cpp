#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/prediction.h"
#include "cli/report.h"
#include "cli/workload.h"
#include "core/error.h"
#include "core/recorder.h"
#include "sims/cost_model.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

struct Options {
  std::string graph, strategy = "annotated", cost, trace;
  MachineOptions machine;
  StepOptions step;
  std::vector<std::string> set;
  int steps = 1;
  bool as_json = false, batch = false;
};

struct Model {
  std::unique_ptr<CostModel> costs;
  PredictionSettings settings;
  std::string origin;  // "calibrated on ..." or "uncalibrated"
};

Model LoadModel(const std::string& file) {
  Model model;
  if (file.empty()) {
    model.costs = std::make_unique<RooflineCost>();
    model.origin = "uncalibrated";
    return model;
  }
  auto costs = std::make_unique<CalibratedCost>(ReadCostTable(file));
  model.settings = SettingsOf(*costs);
  model.origin = "calibrated on " + costs->table().calibrated_on;
  model.costs = std::move(costs);
  return model;
}

json ResultJson(const Machine& machine, const Schedule& schedule, const Prediction& prediction,
                int64_t wall_ns) {
  json result = PredictionJson(machine, prediction);
  result["commands"] = schedule.commands.size();
  result["wall_ns"] = wall_ns;
  result["uncalibrated_share"] = prediction.uncalibrated_share;
  return result;
}

// JSON lines in, each a placement on top of the graph's own; JSON lines out.
void RunBatch(const Workload& workload, const Machine& machine, const Model& model) {
  const PlacedGraph base = Place(workload, "annotated", machine, *model.costs);
  std::string line;
  while (!Interrupted().load() && std::getline(std::cin, line)) {
    if (line.empty()) continue;
    const int64_t start = NowNs();
    try {
      const PlacedGraph placed{&workload, "batch",
                               ParsePlacement(line, workload.graph(), machine, base.placement)};
      const CompiledStep step = CompileStep(placed, machine);
      const Prediction prediction =
          Predict(workload.graph(), workload.info(), step.schedule, machine, *model.costs, model.settings);
      fmt::print("{}\n", ResultJson(machine, step.schedule, prediction, NowNs() - start).dump());
    } catch (const Error& error) {
      fmt::print("{}\n",
                 json{{"failed", {{"code", CodeName(error.code())}, {"message", error.message()}}}}.dump());
    }
  }
}

void Run(const Options& options) {
  const Workload workload(options.graph, options.step);
  Machine machine = options.machine.Load();
  for (const std::string& change : options.set) ApplyMachineChange(change, &machine);
  const Model model = LoadModel(options.cost);
  if (options.batch) return RunBatch(workload, machine, model);
  const int64_t start = NowNs();
  const PlacedGraph placed = Place(workload, options.strategy, machine, *model.costs);
  const CompiledStep step = CompileStep(placed, machine);
  const Prediction prediction =
      Predict(workload.graph(), workload.info(), step.schedule, machine, *model.costs, model.settings);
  const int64_t wall_ns = NowNs() - start;
  if (!options.trace.empty()) {
    TraceWriter writer(options.trace);
    WritePrediction(&writer, step, machine, prediction, options.steps, model.origin, false);
    writer.Close();
  }
  if (options.as_json) {
    fmt::print("{}\n", ResultJson(machine, step.schedule, prediction, wall_ns).dump());
    return;
  }
  PrintPrediction(workload.name(), placed.strategy, machine, step.schedule, prediction, model.origin);
}

}  // namespace

void AddSimulate(CLI::App* app) {
  auto* command = app->add_subcommand("simulate", "Predict a step without devices");
  auto options = std::make_shared<Options>();
  command->add_option("graph", options->graph, "GraphDef file (.pb, .pbtxt)")->required();
  command->add_option("--strategy", options->strategy, "Strategy, or @placement.json")->capture_default_str();
  command->add_option("--cost", options->cost,
                      "Cost model (see calibrate); default: the machine file's rates, uncalibrated");
  command->add_option("--set", options->set,
                      "Change the machine: link.bandwidth=10GB/s, link.latency=5us, GPU:1.speed=0.5");
  command->add_option("--trace", options->trace, "Append the simulated run to this trace");
  command->add_option("--steps", options->steps, "Steps in the trace")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  options->machine.Add(command);
  options->step.Add(command);
  command->add_flag("--batch", options->batch,
                    "Read placements as JSON lines from stdin, print one JSON line for each");
  command->add_flag("--json", options->as_json, "Print JSON");
  command->callback([options] { Run(*options); });
}

}  // namespace lanescope::cli
