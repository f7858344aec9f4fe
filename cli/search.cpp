// SPDX-License-Identifier: Apache-2.0
#include "sims/search/search.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/layout_search.h"
#include "cli/line_width.h"
#include "cli/module_format.h"
#include "cli/module_maps.h"
#include "cli/options.h"
#include "cli/plans.h"
#include "cli/print.h"
#include "cli/report.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/processors.h"
#include "core/base/statistics.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "study/compare/placement_search.h"
#include "study/compare/placement_search_json.h"
#include "study/job/mpi.h"
#include "study/measure/recorded_run.h"
#include "study/predict/predictor.h"

namespace lanescope::cli {
namespace {

struct SearchCommand {
  std::string graph, cost, starts, output, budget = "60s";
  MachineOptions machine;
  StepOptions step;
  PlaceOptions place;
  ModuleFormat format;
  exec::DeviceOptions devices;
  uint64_t seed = 1;
  int threads = 0, verify = 0, rounds = 40, restarts = 1, steps = 20;
  bool as_json = false, plans = false;
  PlanOptions plan;
};

// A found placement that ran on the devices.
struct Verified {
  const sims::FoundPlacement* found = nullptr;
  double measured_ns = 0;  // median step
  double error() const { return (static_cast<double>(found->step_ns) - measured_ns) / measured_ns; }
};

// One line a second at most, from the first second on.
class SearchReporter {
 public:
  void operator()(const sims::SearchProgress& progress) {
    constexpr int64_t kSecond = 1'000'000'000;
    if (progress.wall_ns < next_ns_) return;
    next_ns_ = progress.wall_ns + kSecond;
    PrintNote("{:3} s: {} evaluations, best {} ({})\n", progress.wall_ns / kSecond, progress.evaluations,
              TimeText(static_cast<double>(progress.best_ns)), progress.origin);
  }

 private:
  int64_t next_ns_ = 1'000'000'000;
};

std::vector<Verified> VerifyBest(const SearchCommand& command, const study::Workload& workload,
                                 const Machine& machine, const sims::SearchResult& result) {
  constexpr int kWarmup = 3;
  std::vector<Verified> verified;
  study::RecordedRunOptions options;
  options.settings.devices = command.devices;
  options.cancellation = &Interruption();
  for (const sims::FoundPlacement& found : result.best) {
    if (verified.size() == static_cast<size_t>(command.verify)) break;
    study::RecordedRun run({&workload, found.origin, found.placement}, machine, nullptr, options);
    run.RunToEnd(kWarmup, command.steps);
    const std::vector<int64_t> times = run.StepTimes();
    std::vector<double> steps(times.begin(), times.end());
    verified.push_back({&found, Median(std::move(steps))});
  }
  return verified;
}

nlohmann::json ResultJson(const study::Workload& workload, const Machine& machine,
                          const study::FoundPlacements& found, const std::vector<Verified>& verified) {
  nlohmann::json result = study::FoundPlacementsJson(found, workload.graph(), machine);
  for (const Verified& run : verified) {
    result["verified"].push_back({{"strategy", run.found->origin},
                                  {"predicted_ns", run.found->step_ns},
                                  {"measured_ns", static_cast<int64_t>(run.measured_ns)},
                                  {"error", run.error()}});
  }
  return result;
}

// Strategies that do not fit are many at once, and say the same of several tensors.
void PrintFailed(const std::vector<std::pair<std::string, Error>>& failed) {
  std::vector<std::string> too_large;
  std::string first;
  for (const auto& [name, error] : failed) {
    if (error.code() != Code::kResourceExhausted) {
      Print("{}: {}\n", name, OneLine(error.what()));
      continue;
    }
    if (too_large.empty()) first = error.message();
    too_large.push_back(name);
  }
  if (!too_large.empty())
    Print("do not fit the devices' memory: {} ({}: {})\n", fmt::format("{}", fmt::join(too_large, ", ")),
          too_large.front(), OneLine(first));
}

void PrintResult(const sims::SearchResult& result, const std::optional<sims::LowerBound>& bound,
                 const std::vector<Verified>& verified) {
  const sims::FoundPlacement& best = result.best.front();
  const auto share = [&](int64_t ns) {
    if (best.step_ns == 0) return std::string("-");
    return fmt::format("{:.3f}x", static_cast<double>(ns) / static_cast<double>(best.step_ns));
  };
  TextTable table;
  table.Name("Placement").Number("Step").Number("Of best");
  for (const sims::FoundPlacement& start : result.starts)
    table.Row({start.origin, TimeText(static_cast<double>(start.step_ns)), share(start.step_ns)});
  if (best.origin.starts_with("search"))
    table.Row({best.origin, TimeText(static_cast<double>(best.step_ns)), share(best.step_ns)});
  if (bound)
    table.Row({fmt::format("lower bound: {}", bound->reason), TimeText(static_cast<double>(bound->step_ns)),
               share(bound->step_ns)});
  PrintText(table.Take(LineWidth()));
  PrintFailed(result.failed);
  Print("\n{} evaluations, {:.0f} a second, and {} full simulations in {}{}\n", result.evaluations,
        result.evaluations_per_s(), result.simulations, TimeText(static_cast<double>(result.wall_ns)),
        result.settled ? "" : "; ended before it settled, so a repetition may end elsewhere");
  if (verified.empty()) return;
  TextTable runs;
  runs.Name("On the devices").Number("Predicted").Number("Measured").Number("Error");
  for (const Verified& run : verified) {
    runs.Row({run.found->origin, TimeText(static_cast<double>(run.found->step_ns)), TimeText(run.measured_ns),
              SignedPercentText(run.error())});
  }
  PrintText("\n" + runs.Take(LineWidth()));
}

// A search that a signal ends before anything is found says which signal it was.
study::FoundPlacements Find(const study::Workload& workload, const study::Predictor& predictor,
                            const study::PlacementSearchRequest& request) {
  try {
    return study::SearchPlacements(workload, predictor, request);
  } catch (const Error& error) {
    if (error.code() == Code::kCancelled) Interruption().Check();
    throw;
  }
}

// A device map and split points are of whole modules; a line says what they and the single ops take.
void PrintFormat(const SearchCommand& command, const study::Workload& workload, const Machine& machine,
                 const sims::SearchResult& result, const std::optional<study::FoundModuleMaps>& maps) {
  const sims::FoundPlacement& ops = result.best.front();
  const study::ModuleMap* map = nullptr;
  if (maps && !command.format.makes_fsdp())
    map = command.format.makes_splits() && maps->best_split ? &*maps->best_split : &maps->best;
  if (map != nullptr) NoteLine("note: " + ModuleMapsLine(*maps, ops.step_ns));
  command.format.Print({&workload, ops.origin, map != nullptr ? map->placement : ops.placement}, machine);
}

void Search(SearchCommand& command) {
  RequireNotRead(command.output, {command.graph, command.machine.file, command.cost});
  const Machine machine = command.machine.Load();
  study::WorkloadOptions step = command.step;
  step.machine = &machine;
  const study::Workload workload(command.graph, step);
  if (command.format.given()) command.format.Read(command.graph);
  if (const auto origin = sims::megatron::OriginOf(workload.graph())) {
    // There is little to share: the first process does it.
    if (!study::WorldRanks().is_first()) return;
    return SearchGptLayouts(workload.name(), *origin, command.machine.file.empty() ? nullptr : &machine,
                            command.output, command.as_json);
  }
  const study::Predictor predictor = command.cost.empty()
                                         ? study::Predictor(machine)
                                         : study::Predictor(machine, sims::ReadCostTable(command.cost));
  const study::Cancellation::Watch in_order(&Interruption());
  study::PlacementSearchRequest request;
  if (!command.starts.empty()) request.starts = SplitAtCommas(command.starts);
  request.place = command.place;
  request.note = NoteLine;
  sims::SearchOptions& options = request.options;
  options.seed = command.seed;
  options.threads = command.threads > 0 ? command.threads : NumProcessors();
  options.budget_ns = ParseDuration(command.budget);
  options.rounds = command.rounds;
  options.keep = std::max(3, command.verify);
  options.interrupted = &Interruption().flag();
  options.restarts = command.restarts;
  options.ranks = study::WorldRanks();
  if (options.ranks.is_first()) options.progress = SearchReporter();
  const study::FoundPlacements found = Find(workload, predictor, request);
  const sims::SearchResult& result = found.result;
  if (!options.ranks.is_first()) return;
  const Placement& best = result.best.front().placement;
  if (!command.output.empty()) {
    OutputFile file(command.output);
    file.Write(PlacementToJson(best, workload.graph(), predictor.machine()));
    file.Commit();
  }
  std::vector<Verified> verified;
  if (command.verify > 0 && !Interruption().cancelled())
    verified = VerifyBest(command, workload, predictor.machine(), result);
  const auto maps =
      FindModuleMaps(command.graph, workload, predictor, command.format.whole(), found, options.budget_ns);
  if (command.format.given()) {
    PrintFormat(command, workload, predictor.machine(), result, maps);
  } else if (command.as_json) {
    nlohmann::json answer = ResultJson(workload, predictor.machine(), found, verified);
    if (maps) answer["modules"] = study::ModuleMapsJson(*maps, workload.graph(), predictor.machine());
    PrintJson(JsonText(answer));
  } else {
    Print("{} on {}; predictions {}\n\n", workload.name(), predictor.machine().name, predictor.origin());
    if (!found.caveat.empty()) Print("The best: {}\n\n", found.caveat);
    PrintResult(result, found.bound, verified);
    if (maps) Print("\nOf modules: {}\n", ModuleMapsLine(*maps, result.best.front().step_ns));
    if (!command.output.empty()) Print("placement: {}\n", command.output);
  }
  Interruption().Check();
}

std::string CheckBudget(const std::string& text) {
  try {
    return ParseDuration(text) > 0 ? "" : "must be longer than nothing";
  } catch (const Error& error) {
    return error.message();
  }
}

}  // namespace

void AddSearch(CLI::App* app) {
  auto* command = app->add_subcommand("search", "Look for the placement with the shortest predicted step");
  auto options = std::make_shared<SearchCommand>();
  command->add_option("graph", options->graph, kGraphHelp)->required();
  command->add_option("--cost", options->cost,
                      "Cost model (see calibrate); default: the machine file's rates, uncalibrated");
  command->add_option("--budget", options->budget, "Time to search for at most, e.g. 60s")
      ->capture_default_str()
      ->check(CheckBudget);
  command->add_option("--rounds", options->rounds, "Rounds to search for at most")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  command
      ->add_option("--restarts", options->restarts,
                   "Times the chains of a round; under mpirun every process has as many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--seed", options->seed, "Same seed, same answer, where the budget ends nothing")
      ->capture_default_str();
  command->add_option("--start", options->starts,
                      "Strategies to start from, with commas between; default: all named ones");
  command->add_option("--threads", options->threads, "Default: as many as there are cores")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--verify", options->verify,
                   "Run this many of the best on the devices; of plans, on virtual ones")
      ->check(CLI::Range(0, 100));
  command->add_option("--steps", options->steps, "Steps of each that is verified")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("-o,--output", options->output,
                      "Write the best as FILE.json, for --strategy @FILE.json; of a graph of `make gpt` as "
                      "FILE.pb");
  options->machine.Add(command);
  options->step.Add(command, study::Unconfigured::kWholeGraph);
  options->place.Add(command);
  AddGpuOptions(command, &options->devices);
  CLI::Option* json = command->add_flag("--json", options->as_json, "Print JSON");
  options->format.Add(command, {json});
  command->add_flag("--plans", options->plans,
                    "Look for the best plan of parallelism: `graph` is a model by name, a file with its "
                    "shape or its graph, "
                    "--machine one by name, as dgx-h100:64");
  options->plan.AddBatch(command);
  options->plan.AddSearch(command);
  AddFullNames(command);
  AddExample(command, "lanescope search samples/graphs/deepconn_dual.pbtxt --budget 5s");
  command->callback([options, command] {
    if (!options->plans) {
      CheckOfGraphs(*command, "--plans");
      return Search(*options);
    }
    CheckOfPlans(*command, "--plans");
    options->plan.model = options->graph;
    options->plan.machine = options->machine.file;
    options->plan.as_json = options->as_json;
    options->plan.verify = options->verify;
    options->plan.steps = options->steps;
    SearchPlans(options->plan);
  });
}

}  // namespace lanescope::cli
