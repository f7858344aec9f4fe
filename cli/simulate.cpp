// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/ablation_report.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_width.h"
#include "cli/options.h"
#include "cli/plans.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sweep_report.h"
#include "cli/trace_files.h"
#include "cli/unknown_report.h"
#include "cli/what_if.h"
#include "core/base/error.h"
#include "core/record/recorder.h"
#include "core/schedule/unknown_work.h"
#include "sims/megatron/gpt_graph.h"
#include "study/job/mpi.h"
#include "study/measure/loop_trips.h"
#include "study/predict/predictor.h"
#include "study/predict/recorded_prediction.h"
#include "study/workload/machine_change.h"
#include "study/workload/placing.h"
#include "traces/record/trace_writer.h"
#include "traces/replay/what_if.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

struct SimulateOptions {
  std::string graph, strategy = "annotated", cost, trace, sweep, plot;
  MachineOptions machine;
  StepOptions step;
  PlaceOptions place;
  std::vector<std::string> set;
  int steps = 1, run = 0;
  bool as_json = false, batch = false, ablate = false, measure_trips = false;
  PlanOptions plan;
};

// Costs of the file, or the machine's rates, with what --set changes.
study::Predictor PredictorOf(const SimulateOptions& options) {
  Machine machine = options.machine.Load();
  IdVector<DeviceId, double> speed(machine.devices.size(), 1.0);
  for (const std::string& change : options.set) study::ApplyMachineChange(change, &machine, &speed);
  const study::Predictor predictor = options.cost.empty()
                                         ? study::Predictor(machine)
                                         : study::Predictor(machine, sims::ReadCostTable(options.cost));
  return predictor.At(std::move(machine), speed);
}

// Prints of a graph in which one GPU stands for others: for how many, and whether two of them share a link of
// the machine.
struct Folding {
  int64_t stands_for = 1;
  bool shares_links = false;
};

Folding FoldingOf(const Graph& graph, const Machine& machine) {
  return {sims::megatron::StandsFor(graph), !(machine.cluster && machine.cluster->IsNonBlocking())};
}

json FoldingJson(const Folding& folding) {
  return {{"stands_for", folding.stands_for}, {"shares_links", folding.shares_links}};
}

void PrintFolding(const Folding& folding) {
  if (folding.stands_for <= 1) return;
  Print(
      "Symmetry is folded: each GPU stands for {} that do the same at the same time; {}\n",
      folding.stands_for,
      folding.shares_links
          ? "too short where they share links of this machine"
          : "no two of them share a link of this machine, so only the launch that joins their ends is lost");
}

// The time of a placement on top of `base`, as a line of the answer.
std::string SimulateLine(const std::string& line, const study::Workload& workload,
                         const study::Predictor& predictor, const Placement& base, WireFormat wire) {
  const Machine& machine = predictor.machine();
  const int64_t start = NowNs();
  try {
    const study::PlacedGraph placed = study::OnWire(
        {&workload, "batch", ParsePlacement(line, workload.graph(), machine, base)}, machine, wire);
    const Schedule schedule = CompileStep(placed, machine);
    const sims::Prediction prediction = predictor.Predict(*placed.workload, schedule);
    return JsonText(PredictionJson(machine, schedule, prediction, NowNs() - start));
  } catch (const Error& error) {
    return JsonText({{"failed", {{"code", CodeName(error.code())}, {"message", error.message()}}}});
  }
}

// The first rank alone is given lines and prints; the ranks take them in turn.
void RunSharedBatch(const study::Workload& workload, const study::Predictor& predictor, const Placement& base,
                    WireFormat wire, const Ranks& ranks) {
  json lines = json::array(), mine = json::array();
  std::string line;
  while (ranks.is_first() && std::getline(std::cin, line)) {
    if (!line.empty()) lines.push_back(line);
  }
  lines = json::parse(ranks.Share(lines.dump(-1, ' ', false, json::error_handler_t::replace)).front());
  const auto step = static_cast<size_t>(ranks.size);
  for (size_t i = static_cast<size_t>(ranks.rank); i < lines.size(); i += step)
    mine.push_back(SimulateLine(lines[i], workload, predictor, base, wire));
  std::vector<json> answers;
  for (const std::string& text : ranks.Share(mine.dump())) answers.push_back(json::parse(text));
  for (size_t i = 0; ranks.is_first() && i < lines.size(); ++i)
    PrintJson(answers[i % step][i / step].get<std::string>());
}

// JSON lines in, each a placement; JSON lines out.
void RunBatch(const study::Workload& workload, const study::Predictor& predictor, WireFormat wire) {
  const Placement base =
      study::Place(workload, "annotated", predictor.machine(), predictor.costs()).placement;
  const Ranks& ranks = study::WorldRanks();
  if (ranks.size > 1) return RunSharedBatch(workload, predictor, base, wire, ranks);
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.empty()) continue;
    PrintJson(SimulateLine(line, workload, predictor, base, wire));
    std::fflush(stdout);  // whoever sends the next line may first want this answer
  }
}

// One of those that --strategy names.
struct Candidate {
  study::PlacedGraph placed;
  Schedule schedule;
};

std::vector<Candidate> Prepare(const SimulateOptions& options, const study::Workload& workload,
                               const study::Predictor& predictor) {
  std::vector<Candidate> candidates;
  for (const std::string& strategy : SplitAtCommas(options.strategy)) {
    study::PlacedGraph placed =
        study::Place(workload, strategy, predictor.machine(), predictor.costs(), options.place);
    candidates.push_back({std::move(placed), {}});
  }
  for (Candidate& candidate : candidates)
    candidate.schedule = CompileStep(candidate.placed, predictor.machine());
  return candidates;
}

sims::Sweep SweepCandidates(const SimulateOptions& options, const study::Predictor& predictor,
                            const std::vector<Candidate>& candidates) {
  std::vector<study::SweptStep> steps;
  for (const Candidate& candidate : candidates)
    steps.push_back({candidate.placed.strategy, candidate.placed.workload, &candidate.schedule});
  return predictor.SweepLinks(steps, ParseSweep(options.sweep, predictor.machine()), study::WorldRanks());
}

void WriteTrace(const SimulateOptions& options, const Candidate& step, const study::Predictor& predictor,
                const sims::Prediction& prediction) {
  const study::Cancellation::Watch in_order(&Interruption());
  traces::TraceWriter writer(options.trace, traces::NewTrace::kWhenClosed);
  study::RecordPrediction(&writer, step.placed, step.schedule, predictor, prediction,
                          {.steps = options.steps, .cancellation = &Interruption()});
  writer.Close();
}

// A simulated loop runs as often as is said, or as it did here.
study::WorkloadOptions StepOf(const SimulateOptions& options, const Machine& machine) {
  study::WorkloadOptions step = options.step.On(machine);
  if (options.batch) step.joint_launches = false;  // placements come later
  if (options.measure_trips) {
    step.trips = study::MeasureTrips(options.graph, step, &Interruption());
    for (const auto& [loop, times] : step.trips)
      NoteLine(fmt::format("note: loop '{}' ran {} times here", loop, times));
  }
  step.exact_trips = !step.trips.empty();
  return step;
}

void SimulateGraph(const SimulateOptions& options) {
  const study::Predictor predictor = PredictorOf(options);
  const Machine& machine = predictor.machine();
  const study::Workload workload(options.graph, StepOf(options, machine));
  if (options.batch) return RunBatch(workload, predictor, options.place.wire);
  const int64_t start = NowNs();
  const std::vector<Candidate> candidates = Prepare(options, workload, predictor);
  const Candidate& step = candidates.front();
  const sims::Prediction prediction = predictor.Predict(*step.placed.workload, step.schedule);
  const int64_t wall_ns = NowNs() - start;
  const auto unknown =
      FindUnknownWork(step.placed.workload->graph(), step.placed.workload->info(), step.schedule);
  const Folding folding = FoldingOf(step.placed.workload->graph(), machine);
  std::optional<sims::Sweep> sweep;
  if (!options.sweep.empty()) {
    sweep = SweepCandidates(options, predictor, candidates);
    if (!study::WorldRanks().is_first()) return;
  }
  if (!options.trace.empty()) WriteTrace(options, step, predictor, prediction);
  std::vector<int64_t> without_ns;
  if (options.ablate) without_ns = predictor.Ablate(*step.placed.workload, step.schedule);
  if (options.as_json) {
    json result = PredictionJson(machine, step.schedule, prediction, wall_ns);
    result["unknown"] = UnknownWorkJson(unknown);
    if (folding.stands_for > 1) result["folded"] = FoldingJson(folding);
    if (options.ablate) result["without"] = AblationJson(without_ns);
    if (sweep.has_value()) result["sweep"] = SweepJson(*sweep);
    PrintJson(JsonText(result));
  } else {
    PrintPrediction(workload.name(), step.placed.strategy, machine, step.schedule, prediction,
                    predictor.origin());
    PrintFolding(folding);
    PrintUnknownWork(unknown);
    PrintAblation({{"Step", prediction.step_ns, without_ns}});
    if (sweep.has_value()) PrintSweep(*sweep);
  }
  if (options.plot.empty()) return;
  WritePlot(options.plot, *sweep, fmt::format("Step time of {} by link bandwidth", workload.name()));
  if (!options.as_json) Print("plot: {}\n", options.plot);
}

// Refuses options that a trace answers itself: its devices, how often and where it ran.
void CheckOfTrace(const SimulateOptions& options, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    static const std::set<std::string> kOfTraces = {"graph",  "--set",   "--run",
                                                    "--json", "--width", "--full-names"};
    if (option->count() > 0 && !kOfTraces.contains(option->get_name())) {
      throw CLI::ValidationError(option->get_name(),
                                 fmt::format("is for graphs, and '{}' is a trace", options.graph));
    }
  }
}

void Check(const SimulateOptions& options) {
  if (options.run > 0) throw CLI::ValidationError("--run", "is for traces");
  for (const std::string& change : options.set) {
    if (const std::string problem = study::CheckMachineChange(change); !problem.empty())
      throw CLI::ValidationError("--set", problem);
  }
  if (options.sweep.empty() && options.strategy.find(',') != std::string::npos) {
    throw CLI::ValidationError("--strategy",
                               "several strategies need --sweep; `compare --no-run` shows them side by side");
  }
  if (options.sweep.empty() && !options.plot.empty()) throw CLI::ValidationError("--plot", "needs --sweep");
}

}  // namespace

void AddSimulate(CLI::App* app) {
  auto* command =
      app->add_subcommand("simulate", "Predict a step without devices, or the steps of a trace with changes");
  auto options = std::make_shared<SimulateOptions>();
  command->add_option("graph", options->graph, std::string(kGraphHelp) + ", or a trace of other tools")
      ->required();
  command
      ->add_option("--strategy", options->strategy,
                   StrategyNames() + "; with --sweep several, with commas between")
      ->capture_default_str();
  command->add_option("--cost", options->cost,
                      "Cost model (see calibrate); default: the machine file's rates, uncalibrated");
  command
      ->add_option(
          "--set", options->set,
          "Change the machine: link.bandwidth=10GB/s, link.latency=5us, GPU:1.speed=0.5; of a trace: " +
              traces::WhatIfForms())
      ->allow_extra_args(false);
  command->add_option("--run", options->run, "Run of the trace; default: the last")
      ->check(CLI::Range(1, 65535));
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
  options->step.Add(command, study::Unconfigured::kWholeGraph);
  options->place.Add(command);
  options->place.AddWire(command);
  command->add_flag("--measure-trips", options->measure_trips,
                    "Run a step on this computer first, to see how often loops run whose end data decide");
  command->add_flag("--ablate", options->ablate, "Print how each effect of the model changes the prediction");
  auto* batch = command->add_flag("--batch", options->batch,
                                  "Read placements as JSON lines from stdin, print one JSON line for each");
  batch->excludes("--sweep")->excludes("--trace")->excludes("--ablate");
  command->add_flag("--json", options->as_json, "Print JSON");
  command->add_option(
      "--plan", options->plan.plan,
      "dp=4,tp=2,...: the step of a model (by name, or a file with its shape) under this plan, on a "
      "machine by name");
  options->plan.AddBatch(command);
  AddFullNames(command);
  AddExample(command, "lanescope simulate samples/graphs/deepconn_dual.pbtxt --set link.latency=9us");
  command->callback([options, command] {
    if (command->count("--plan") > 0) {
      CheckOfPlans(*command, "--plan");
      options->plan.model = options->graph;
      options->plan.machine = options->machine.file;
      options->plan.as_json = options->as_json;
      options->plan.trace = options->trace;
      return SimulatePlan(options->plan);
    }
    CheckOfGraphs(*command, "--plan");
    if (IsTrace(options->graph)) {
      CheckOfTrace(*options, *command);
      return SimulateTrace({options->graph, options->run, options->set, options->as_json});
    }
    Check(*options);
    SimulateGraph(*options);
  });
}

}  // namespace lanescope::cli
