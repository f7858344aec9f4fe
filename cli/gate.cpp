// SPDX-License-Identifier: Apache-2.0
// The command `gate`: its options, where its sides come from, and what it prints.
#include "study/gate/gate.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/gate_sides.h"
#include "cli/graph_choice.h"
#include "cli/interrupt.h"
#include "cli/line_width.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/run_pair.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "sims/cost/cost_table.h"
#include "study/gate/command_rounds.h"
#include "study/gate/gate_report.h"
#include "study/gate/plan_gate.h"
#include "study/gate/stored_baseline.h"

namespace lanescope::cli {
namespace {

constexpr int kWorse = 1, kCannotTell = 3;
constexpr size_t kShownOps = 8;
constexpr double kMostBudget = 10;  // ten times as long

struct GateOptions {
  std::vector<std::string> sides;
  std::vector<std::string> what;
  std::string budget = "2%", time_limit = "600s", junit, markdown, store, as, cost;
  std::vector<std::string> strategies;
  MachineOptions machine;
  StepOptions step;
  PlaceOptions place;
  int rounds = 20, warmup = 1;
  uint64_t seed = 1;
  bool runs_commands = false, as_json = false;

  const std::string& base() const { return sides.front(); }
  const std::string& candidate() const { return sides.back(); }
};

double ParseBudget(const std::string& text) {
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || std::string_view(at, static_cast<size_t>(end - at)) != "%" || !(percent >= 0) ||
      percent / 100 > kMostBudget)
    Throw(Code::kInvalidArgument, "'{}' is no budget; give a share like 2%", text);
  return percent / 100;
}

std::vector<study::Quantity> QuantitiesOf(const GateOptions& options) {
  std::vector<study::Quantity> quantities;
  for (const std::string& list : options.what) {
    for (study::Quantity& quantity : study::ParseQuantities(list)) {
      if (std::ranges::find(quantities, quantity) == quantities.end())
        quantities.push_back(std::move(quantity));
    }
  }
  return quantities.empty() ? study::ParseQuantities("step") : quantities;
}

int64_t UtcNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

bool IsBaseline(const std::string& side) { return side.starts_with('@'); }

// Holds what the gate found, and the candidate's runs, for the store.
struct Gated {
  study::GateResult result;
  std::vector<study::RunSample> candidate;
  std::vector<study::Quantity> quantities;
};

TraceSide ReadSide(const std::string& side, traces::BaselineStore* store,
                   std::span<const study::Quantity> quantities) {
  if (!IsBaseline(side)) return ReadTraceSide(side, quantities);
  const std::string name = side.substr(1);
  if (store == nullptr)
    Throw(Code::kInvalidArgument, "'{}' is a baseline of a store; name its --store", side);
  return {side, study::LatestBaseline(store, name, quantities), {}, {}};
}

Gated GateTraces(const GateOptions& options, study::GateRequest request) {
  std::optional<traces::BaselineStore> store;
  if (!options.store.empty() && (IsBaseline(options.base()) || IsBaseline(options.candidate())))
    store.emplace(options.store, traces::BaselineStore::Access::kRead);
  traces::BaselineStore* const baselines = store ? &*store : nullptr;
  TraceSide base = ReadSide(options.base(), baselines, request.quantities);
  TraceSide candidate = ReadSide(options.candidate(), baselines, request.quantities);
  if (IsBaseline(options.base())) {
    request.spread = study::SpreadOfBaselines(
        baselines->Latest(options.base().substr(1), study::kBaselinesKept), request.quantities);
  }
  request.base_name = base.name;
  request.candidate_name = candidate.name;
  request.base = std::move(base.runs);
  request.candidate = std::move(candidate.runs);
  request.in_turn = study::RanInTurn(request.base, request.candidate);
  study::OpChanges ops;
  for (size_t i = 0; i < std::min(base.profiles.size(), candidate.profiles.size()); ++i)
    ops.Add(MatchRuns({base.references[i], candidate.references[i]}, &base.profiles[i],
                      &candidate.profiles[i], -1)
                .diff);
  Gated gated{study::Gate(request), std::move(request.candidate), std::move(request.quantities)};
  gated.result.ops = ops.Largest(kShownOps);
  return gated;
}

Gated GateCommandsOf(const GateOptions& options, const study::GateRequest& request) {
  study::CommandRounds rounds{.base = options.base(),
                              .candidate = options.candidate(),
                              .rounds = options.rounds,
                              .warmup = options.warmup,
                              .time_limit_ns = ParseDuration(options.time_limit),
                              .seed = options.seed,
                              .budget = request.budget,
                              .quantities = request.quantities,
                              .is_trace = IsTrace,
                              .read = nullptr,
                              .diff = nullptr,
                              .cancellation = &Interruption(),
                              .note = NoteLine};
  rounds.read = [&](const std::string& trace) { return ReadOnlyRun(trace, request.quantities); };
  rounds.diff = [](const study::MeasuredRun& base_run, const study::MeasuredRun& candidate_run) {
    ProfiledRun base{{}, base_run.profile, {}}, candidate{{}, candidate_run.profile, {}};
    return MatchRuns({OnlyRunOf(base_run.trace), OnlyRunOf(candidate_run.trace)}, &base, &candidate, -1).diff;
  };
  Gated gated;
  gated.result = study::GateCommands(rounds, &gated.candidate);
  for (const study::QuantityChange& of : gated.result.quantities) gated.quantities.push_back(of.quantity);
  return gated;
}

// A graph as it is placed for the machine.
struct PlacedPlan {
  PlacedPlan(const std::string& text, const GateOptions& options, const study::Predictor& predictor)
      : choice(ParseGraphChoice(text, options.strategies)),
        workload(choice.path, options.step.On(predictor.machine())) {
    if (choice.strategies.size() != 1)
      Throw(Code::kInvalidArgument, "'{}' is several plans; name one strategy", text);
    placed = study::Place(workload, choice.strategies.front(), predictor.machine(), predictor.costs(),
                          options.place);
    schedule = CompileStep(placed, predictor.machine());
  }
  study::Plan plan() const {
    return {fmt::format("{} placed by {}", workload.name(), placed.strategy), &placed, &schedule};
  }
  study::ComparedGraph choice;
  study::Workload workload;
  study::PlacedGraph placed;
  Schedule schedule;
};

Gated GateGraphs(const GateOptions& options, const study::GateRequest& request) {
  const Machine machine = options.machine.Load();
  const study::Predictor predictor = options.cost.empty()
                                         ? study::Predictor(machine)
                                         : study::Predictor(machine, sims::ReadCostTable(options.cost));
  const PlacedPlan base(options.base(), options, predictor),
      candidate(options.candidate(), options, predictor);
  return {study::GatePlans(base.plan(), candidate.plan(), predictor, request.quantities, request.budget,
                           &Interruption()),
          {},
          {}};
}

void PrintGate(const study::GateResult& result) {
  Print("{}: {}; {}: {}{}\n\n", result.base_name, study::RunsText(result.base_runs), result.candidate_name,
        study::RunsText(result.candidate_runs), result.in_turn ? "; run in turn" : "");
  TextTable table;
  table.Name("").Text("Verdict").Number("Base").Number("Candidate").Text("Change").Text("By");
  for (const study::QuantityChange& of : result.quantities) {
    table.Row({of.quantity.name(), std::string(study::GateVerdictName(of.verdict)),
               study::AmountText(of, of.base), study::AmountText(of, of.candidate), study::ChangeText(of),
               of.by});
  }
  PrintText(table.Take(LineWidth()));
  if (!result.ops.empty()) {
    const bool several =
        std::ranges::any_of(result.ops, [](const auto& op) { return op.low_ns < op.high_ns; });
    TextTable ops;
    ops.Number("Adds to the step");
    if (several) ops.Number("From").Number("To");
    ops.Text("Device").Name("Op");
    for (const study::OpChange& op : result.ops) {
      std::vector<std::string> cells{SignedTimeText(op.change_ns)};
      if (several) {
        cells.push_back(SignedTimeText(op.low_ns));
        cells.push_back(SignedTimeText(op.high_ns));
      }
      cells.push_back(op.devices);
      cells.push_back(op.name);
      ops.Row(std::move(cells));
    }
    PrintText("\n" + ops.Take(LineWidth()));
  }
  if (!result.notes.empty()) PrintText("\n");
  for (const std::string& note : result.notes) Print("note: {}\n", note);
  Print("\n{}\n", study::GateSentence(result));
}

// Both reports, or none: what cannot be written is said before anything runs.
class Reports {
 public:
  explicit Reports(const GateOptions& options) {
    std::vector<std::string> read = {options.store, options.cost, options.machine.file};
    for (const std::string& side : options.sides) {
      if (options.runs_commands) break;
      read.push_back(ParseRunChoice(side, 0).path);
      read.push_back(ParseGraphChoice(side, {}).path);
    }
    RequireNotRead(options.junit, read);
    RequireNotRead(options.markdown, read);
    if (!options.junit.empty() && options.junit == options.markdown)
      Throw(Code::kInvalidArgument, "--junit and --markdown name one file, '{}'", options.junit);
    if (!options.junit.empty()) junit_.emplace(options.junit);
    if (!options.markdown.empty()) markdown_.emplace(options.markdown);
  }
  void Write(const study::GateResult& result) {
    if (junit_) junit_->Write(study::GateJUnit(result));
    if (markdown_) markdown_->Write(study::GateMarkdown(result));
    for (auto* file : {&junit_, &markdown_}) {
      if (*file) (*file)->Commit();
    }
  }

 private:
  std::optional<OutputFile> junit_, markdown_;
};

void StoreRuns(const GateOptions& options, const Gated& gated) {
  traces::BaselineStore store(options.store, traces::BaselineStore::Access::kAppend);
  store.Add(options.as, study::RecordOf(options.candidate(), UtcNs(), gated.candidate, gated.quantities));
  PrintNote("stored {} of {} as baseline {} of {}\n",
            study::RunsText(static_cast<int>(gated.candidate.size())), options.candidate(), options.as,
            options.store);
}

void Check(const GateOptions& options) {
  const auto refuse = [](std::string_view why) { Throw(Code::kInvalidArgument, "{}", why); };
  if (!options.as.empty() && options.store.empty())
    refuse("--as names a baseline of a store; give --store FILE");
  if (options.sides.size() == 1 &&
      (options.as.empty() || options.runs_commands || IsBaseline(options.base())))
    refuse(
        "one side alone can be stored (a trace, with --store FILE --as NAME), not judged; name BASE "
        "CANDIDATE");
  if (options.sides.size() == 2 && IsBaseline(options.candidate()) && !options.as.empty())
    refuse("what is stored is a trace; the candidate is a baseline already");
  if (options.runs_commands && !options.what.empty() &&
      options.base().find(study::kTracePlace) == std::string::npos)
    refuse("--what reads traces; without {trace} in both commands their wall time is judged");
  if (options.runs_commands && (IsBaseline(options.base()) || IsBaseline(options.candidate())))
    refuse("commands are judged against a command that is run in turn with them; a baseline is for traces");
}

bool IsTraceSide(const std::string& side) {
  return IsBaseline(side) || IsTrace(ParseRunChoice(side, 0).path);
}

void RequireFile(const std::string& side) {
  if (IsBaseline(side) || std::filesystem::exists(ParseRunChoice(side, 0).path)) return;
  const std::string path = ParseGraphChoice(side, {}).path;
  if (!std::filesystem::exists(path)) Throw(Code::kNotFound, "there is no file '{}'", path);
}

Gated GateSides(const GateOptions& options) {
  study::GateRequest request;
  request.quantities = QuantitiesOf(options);
  request.budget = ParseBudget(options.budget);
  if (options.runs_commands) return GateCommandsOf(options, request);
  for (const std::string& side : options.sides) RequireFile(side);
  const bool traces = IsTraceSide(options.base());
  if (traces != IsTraceSide(options.candidate()))
    Throw(Code::kInvalidArgument, "a trace is judged against a trace, a graph against a graph");
  if (traces) return GateTraces(options, std::move(request));
  if (!options.as.empty())
    Throw(Code::kInvalidArgument, "a plan is predicted anew whenever it is wanted; only runs are stored");
  return GateGraphs(options, request);
}

void RunGate(const GateOptions& options) {
  Check(options);
  if (options.sides.size() == 1) {
    Gated stored;
    stored.quantities = QuantitiesOf(options);
    stored.candidate = ReadTraceSide(options.candidate(), stored.quantities).runs;
    return StoreRuns(options, stored);
  }
  Reports reports(options);
  const Gated gated = GateSides(options);
  const study::GateVerdict verdict = gated.result.verdict;
  reports.Write(gated.result);
  if (options.as_json) {
    PrintJson(study::GateJson(gated.result));
  } else {
    PrintGate(gated.result);
  }
  if (!options.as.empty() && verdict != study::GateVerdict::kWorse) StoreRuns(options, gated);
  if (!options.as.empty() && verdict == study::GateVerdict::kWorse)
    PrintNote("not stored as {}: it is worse; without BASE it is stored all the same\n", options.as);
  if (verdict == study::GateVerdict::kWorse) SetExitStatus(kWorse);
  if (verdict == study::GateVerdict::kCannotTell) SetExitStatus(kCannotTell);
}

void AddCommandOptions(CLI::App* command, GateOptions* options) {
  command->add_flag(
      "--run", options->runs_commands,
      "BASE and CANDIDATE are commands for sh, run in turn; {trace} in both stands for the trace "
      "that each writes, without it their wall time counts");
  command
      ->add_option("--rounds", options->rounds, "Rounds of both commands, at most; it ends once it can tell")
      ->capture_default_str()
      ->check(CLI::Range(1, 400));
  command->add_option("--warmup", options->warmup, "Rounds before that, which do not count")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  command->add_option("--time-limit", options->time_limit, "No round begins after that; 0: no limit")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of the order of the two within each round")
      ->capture_default_str();
}

}  // namespace

void AddGate(CLI::App* app) {
  auto* command = app->add_subcommand(
      "gate", "Say whether a candidate is worse than a baseline, with a status for continuous integration");
  auto options = std::make_shared<GateOptions>();
  command
      ->add_option(
          "sides", options->sides,
          "BASE CANDIDATE: traces (FILE, all its runs, or FILE:RUN), @NAME for a baseline of --store, "
          "graphs (GRAPH or GRAPH:STRATEGY), or with --run commands; with --as one trace, which is stored")
      ->required()
      ->expected(1, 2);
  command->add_option("--budget", options->budget, "How much more than the baseline is tolerated")
      ->capture_default_str();
  command
      ->add_option("--what", options->what,
                   "What to gate: step, fastest (of the steps), kernels, collectives, idle, memory, op:NAME "
                   "(with * and ?); default: step")
      ->allow_extra_args(false);
  AddCommandOptions(command, options.get());
  command->add_option("--store", options->store, "SQLite file with baselines");
  command->add_option("--as", options->as,
                      "Store the candidate's runs as a baseline of this name, unless they are worse");
  command->add_option("--junit", options->junit, "Write the result as JUnit's XML");
  command->add_option("--markdown", options->markdown, "Write the result for a pull request");
  command->add_option("--cost", options->cost, "Of graphs: cost model to predict with");
  command
      ->add_option("--strategy", options->strategies,
                   "Of graphs that name none: how they are placed (annotated)")
      ->expected(1)
      ->allow_extra_args(false);
  options->machine.Add(command);
  options->step.Add(command, study::Unconfigured::kWholeGraph);
  options->place.Add(command);
  command->add_flag("--json", options->as_json, "Print JSON");
  AddLineWidth(command);
  AddExample(command,
             "lanescope gate samples/graphs/deepconn_dual.pbtxt samples/graphs/deepconn_alternating.pbtxt "
             "--machine samples/machines/k80x2.json");
  command->callback([options] { RunGate(*options); });
}

}  // namespace lanescope::cli
