// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/fetch_files.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/placement_log.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/ranks_report.h"
#include "cli/replicas.h"
#include "cli/report.h"
#include "cli/tensor_values.h"
#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/base/units.h"
#include "study/base/json_text.h"
#include "study/job/job.h"
#include "study/job/mpi.h"
#include "study/job/serving.h"
#include "study/measure/participation.h"
#include "study/measure/recorded_run.h"
#include "study/measure/run_capture.h"
#include "traces/record/trace_writer.h"
#include "traces/report/statistics.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

// The processes that run init targets where some serve others, in the order of Participation::Initializer.
constexpr std::array<std::string_view, 3> kInits = {"first", "each", "none"};

struct RunOptions {
  std::string graph, strategy = "annotated", trace, save_fetches;
  MachineOptions machine;
  StepOptions step;
  PlaceOptions place;
  study::RunRequest run;
  int64_t timeout_ms = 0;
  std::string profile{study::kAutomaticCapture};
  std::string init{kInits.front()};
  int alone_steps = 0;
  std::vector<std::string> reset;
  bool together = false;
  bool log = false, as_json = false, replicas = false, in_graph = false;
};

// Batches are steps; a graph may take its input from elsewhere than from readers.
std::string InputText(const study::RecordedRun& run) {
  const std::string batches = fmt::format("{} batches", run.batches());
  return run.records_read() > 0 ? fmt::format("{} records, {}", run.records_read(), batches) : batches;
}

// How stale values are in steps that change what others change too.
struct Staleness {
  double mean = 0;
  int64_t most = 0;
};

std::optional<Staleness> StalenessOf(const study::RecordedRun& run) {
  if (run.staleness().empty()) return std::nullopt;
  Staleness all;
  for (const int64_t steps : run.staleness()) {
    all.mean += static_cast<double>(steps) / static_cast<double>(run.staleness().size());
    all.most = std::max(all.most, steps);
  }
  return all;
}

// How what the steps do on GPUs was timed: never in those whose time is shown, unless there are no others.
void PrintTiming(const study::RecordedRun& run) {
  const RunTiming& timing = run.timing();
  const size_t untimed = timing.untimed.size(), timed = run.step_ns().size() - untimed;
  if (untimed == 0 && timing.commands != CommandTiming::kThreads) {
    Print("  commands of GPUs were timed in these steps, {}\n",
          timing.commands == CommandTiming::kProfiler ? "by a profiler" : "by pairs of events");
  }
  if (untimed == 0 || timed == 0) return;
  Print("  nothing in these steps was timed; commands of GPUs were in {} others, {}\n", timed,
        timing.commands == CommandTiming::kProfiler ? "by a profiler"
        : timing.pair_ns > 0
            ? fmt::format("by pairs of events, of which {} each are taken out", TimeText(timing.pair_ns))
            : "by pairs of events");
}

void PrintResult(const study::RecordedRun& run, const Spread& spread, const std::string& trace) {
  const study::Workload& workload = *run.placed().workload;
  Print("{} placed by {}: {} steps, {} median ({} to {} for the middle half){}\n", workload.name(),
        run.placed().strategy, spread.count, TimeText(spread.median), TimeText(spread.p25),
        TimeText(spread.p75), run.oversubscribed() ? ", oversubscribed" : "");
  PrintTiming(run);
  for (size_t i = 0; i < run.last_fetches().size(); ++i) {
    const Tensor& tensor = run.last_fetches()[i];
    Print("  {} {}{} = {}\n", TitleOf(workload.spec(), workload.spec().fetches[i]),
          DataTypeName(tensor.dtype()), tensor.shape().ToString(), ValuesText(tensor));
  }
  if (const auto staleness = StalenessOf(run)) {
    Print("staleness: {:.2f} updates of others during a step, {} at most\n", staleness->mean,
          staleness->most);
  }
  if (run.input_ended()) Print("the input has ended: {}\n", InputText(run));
  if (!trace.empty()) Print("recorded as run {} of {}\n", run.run_id(), trace);
}

json ResultJson(const study::RecordedRun& run, const Spread& spread, const std::string& trace) {
  json fetches = json::array();
  const std::vector<std::string> names = FetchTitles(run.placed().workload->spec());
  for (size_t i = 0; i < run.last_fetches().size(); ++i)
    fetches.push_back(TensorJson(names[i], run.last_fetches()[i]));
  json result;
  result["trace"] = trace.empty() ? json(nullptr) : json(trace);
  result["run"] = trace.empty() ? json(nullptr) : json(run.run_id());
  result["steps"] = run.step_ns().size();
  result["step_ns"] = study::SpreadJson(spread);
  result["oversubscribed"] = run.oversubscribed();
  if (const RunTiming& timing = run.timing(); timing.commands != CommandTiming::kThreads) {
    result["timing"] = {{"commands", kCommandTimingNames[static_cast<size_t>(timing.commands)]},
                        {"pair_ns", timing.pair_ns},
                        {"untimed_steps", timing.untimed.size()}};
  }
  if (!run.placed().workload->spec().queue_runners.empty()) {
    result["input"] = {
        {"records", run.records_read()}, {"batches", run.batches()}, {"ended", run.input_ended()}};
  }
  const auto staleness = StalenessOf(run);
  result["staleness"] = staleness ? json{{"mean", staleness->mean}, {"max", staleness->most}} : json(nullptr);
  result["fetches"] = fetches;
  return result;
}

study::CaptureWish CaptureOf(const RunOptions& options) {
  const study::CaptureWish wish = study::CaptureWishOf(options.profile, !options.trace.empty());
  if (wish.mode == CaptureMode::kOff || !options.trace.empty()) return wish;
  NoteLine(
      fmt::format("note: nothing is captured without --trace, where --profile {} would go", options.profile));
  return {};
}

// A run that a signal ends says how far it came.
void RunToEnd(const RunOptions& options, study::RecordedRun* run) {
  try {
    run->RunToEnd(options.run.warmup, options.run.steps);
  } catch (const Error& error) {
    if (!Interruption().cancelled()) throw;
    Throw(Code::kCancelled, "{} after {} of {} steps{}", Interruption().Reason(), run->step_ns().size(),
          options.run.steps,
          options.trace.empty() ? "" : fmt::format("; they are run {} of {}", run->run_id(), options.trace));
  }
}

// Options that all processes of a job must have alike, beside graph and machine.
std::string SettingsText(const RunOptions& options, const study::Workload& workload) {
  std::string text = fmt::format("{} {} {} {} {}", options.run.warmup, options.run.steps,
                                 options.run.settings.seed.has_value() ? *options.run.settings.seed : 0,
                                 options.run.settings.seed.has_value(), options.timeout_ms);
  text += " " + options.profile;
  for (const auto& [name, tensor] : MakeFeeds(workload.spec(), 0))
    text += fmt::format(" {} {} {}", name, DataTypeName(tensor.dtype()), tensor.shape().ToString());
  for (const auto* names : {&workload.spec().init, &workload.spec().fetches, &workload.spec().targets}) {
    text += ";";
    for (const std::string& name : *names) text += " " + name;
  }
  return text;
}

// "{rank}" in a file's name.
std::string WithRank(std::string name, int rank) {
  constexpr std::string_view kRank = "{rank}";
  for (size_t at = name.find(kRank); at != std::string::npos; at = name.find(kRank))
    name.replace(at, kRank.size(), std::to_string(rank));
  return name;
}

// Puts the rank into the names of the files that a process writes.
RunOptions WithRank(RunOptions options) {
  const exec::Transport* const ranks = study::WorldTransport();
  if (ranks == nullptr) return options;
  for (std::string* name : {&options.trace, &options.save_fetches}) *name = WithRank(*name, ranks->rank());
  return options;
}

// One network a GPU is placed by itself and records its commands alone.
void RunEnsemble(const RunOptions& given) {
  if (const study::CaptureWish wish = CaptureOf(given); wish.is_asked_for && wish.mode != CaptureMode::kOff)
    Throw(Code::kUnimplemented, "--profile of several networks; record commands alone, or profile one");
  const RunOptions options = WithRank(given);
  exec::Transport* const ranks = study::WorldTransport();
  if (ranks != nullptr && study::ShareRoles(ranks, false, options.trace).are_served())
    Throw(Code::kUnimplemented, "--replicas where others serve this process; start them without `serve`");
  study::Job job(ranks);
  // Sessions copy nothing to each other's GPUs, and want no note of how.
  const Machine machine =
      job.JoinGpus(options.machine.Load(), options.in_graph ? study::Notes(NoteLine) : nullptr);
  study::WorkloadOptions step = options.step.On(machine);
  step.joint_launches = false;  // a network is on one GPU
  const study::Workload workload(options.graph, step);
  RunReplicas(workload, machine, &job,
              {.run = options.run,
               .in_graph = options.in_graph,
               .wire = options.place.wire,
               .settings = SettingsText(options, workload),
               .trace = options.trace,
               .save_fetches = options.save_fetches,
               .as_json = options.as_json});
}

study::Participation::Initializer InitializerOf(const RunOptions& options) {
  const auto name = std::ranges::find(kInits, options.init);
  return static_cast<study::Participation::Initializer>(name - kInits.begin());
}

void RunGraph(const RunOptions& given) {
  study::RunCapture capture(CaptureOf(given));
  const RunOptions options = WithRank(given);
  exec::Transport* const ranks = study::WorldTransport();
  study::Participation processes(ranks, options.trace);
  study::Job& job = processes.job();
  if (processes.is_served() && capture.active() && capture.is_asked_for())
    Throw(Code::kUnimplemented, "--profile where others serve this process; record commands alone");
  if (!processes.is_served() && !options.reset.empty())
    Throw(Code::kInvalidArgument, "--reset is for variables that `lanescope serve` keeps, and nobody serves");
  const Machine machine = job.JoinGpus(options.machine.Load(), NoteLine);
  study::WorkloadOptions step = options.step.On(machine);
  step.joint_launches = job.InAll(step.joint_launches);
  const study::Workload workload(options.graph, step);
  std::vector<NodeId> order;
  PlaceOptions place = options.place;
  if (options.log) place.order = &order;
  const study::PlacedGraph placed =
      processes.Place(workload, options.strategy, machine, RooflineCost(), place);
  job.RequireSame(placed, machine, SettingsText(options, *placed.workload));
  if (options.log && job.is_first()) {
    const std::string lines = DeviceMapping(machine) + PlacementLog(placed, machine, order);
    options.as_json ? PrintNotes(lines) : PrintText(lines);
  }
  std::optional<FetchFiles> files;
  if (!options.save_fetches.empty() && job.is_first())
    files.emplace(options.save_fetches, FetchTitles(placed.workload->spec()),
                  options.run.warmup + options.run.steps - 1);
  const study::Cancellation::Watch in_order(&Interruption());
  std::unique_ptr<traces::TraceWriter> writer;
  if (!options.trace.empty() && job.is_first()) writer = std::make_unique<traces::TraceWriter>(options.trace);
  study::RecordedRun run(
      placed, machine, writer.get(),
      {.settings = options.run.settings,
       .capture = &capture,
       .cancellation = &Interruption(),
       .participant = processes.MakeParticipant(
           InitializerOf(options),
           {.reset = options.reset, .alone_steps = options.alone_steps, .together = options.together}),
       .note = NoteLine});
  {
    std::optional<Progress> progress;
    if (job.is_first()) progress.emplace("step", options.run.steps);
    run.on_step = [&](int64_t number, const std::vector<Tensor>& fetches) {
      if (number < options.run.warmup) return;
      if (files.has_value()) files->Save(number, fetches);
      if (progress.has_value()) progress->Update(number - options.run.warmup + 1);
    };
    RunToEnd(options, &run);
  }
  if (writer != nullptr) writer->Close();
  if (!job.is_first()) return;
  const auto spread = SpreadOf(run.StepTimes());
  LANESCOPE_CHECK(spread.has_value());
  if (options.as_json) {
    json result = ResultJson(run, *spread, options.trace);
    result["ranks"] = RanksJson(job, machine, processes.is_served() ? ranks : nullptr);
    PrintJson(JsonText(result));
  } else {
    PrintResult(run, *spread, options.trace);
    PrintRanks(job, machine);
  }
}

}  // namespace

void AddRun(CLI::App* app) {
  auto* command = app->add_subcommand("run", "Execute steps of a graph and record a trace");
  auto options = std::make_shared<RunOptions>();
  command->add_option("graph", options->graph, kGraphHelp)->required();
  command->add_option("--strategy", options->strategy, StrategyNames())->capture_default_str();
  command->add_option("--steps", options->run.steps, "Recorded steps")
      ->capture_default_str()
      ->check(CLI::Range(1, study::kMaxSteps));
  command->add_option("--warmup", options->run.warmup, "Steps before that")
      ->capture_default_str()
      ->check(CLI::Range(0, study::kMaxWarmup));
  command->add_option("--trace", options->trace, "Trace file (SQLite); runs are appended");
  AddProfileOption(command, &options->profile);
  command
      ->add_option(
          "--init", options->init,
          "Where `serve` keeps variables: who gives them their first values. first: the first process "
          "that runs a graph, and the others wait for it; each: this one too; none: this one does not")
      ->capture_default_str()
      ->check(CLI::IsMember(std::vector<std::string>(kInits.begin(), kInits.end())));
  auto* reset =
      command
          ->add_option(
              "--reset", options->reset,
              "Where `serve` keeps variables: empty this container of all tasks that serve before they get "
              "first values (localhost: what names no container); may be given several times. A process "
              "that waits for another's values leaves it to that")
          ->allow_extra_args(false);
  command
      ->add_option(
          "--alone-steps", options->alone_steps,
          "Where `serve` keeps variables: steps of the first process, not recorded, before others begin")
      ->capture_default_str()
      ->check(CLI::Range(0, study::kMaxSteps));
  command->add_flag("--together", options->together,
                    "Where `serve` keeps variables: after the steps go on, not recorded, until the other "
                    "processes have run theirs, as synchronous training wants it");
  command->add_option("--save-fetches", options->save_fetches,
                      "Folder for the fetches of every step as .npy files");
  command->add_option("--timeout", options->timeout_ms, "Milliseconds that one step may take")
      ->check(CLI::Range(int64_t{0}, study::kMaxTimeoutMs));
  command
      ->add_option("--seed", options->run.settings.seed,
                   "Seed of random ops and generated feeds that have none of their own")
      ->check([](const std::string& text) {
        return text.find_first_not_of("0123456789") == std::string::npos ? ""
                                                                         : "must be a whole number from 0 on";
      });
  options->machine.Add(command);
  options->step.Add(command, study::Unconfigured::kRefuse);
  AddGpuOptions(command, &options->run.settings.devices);
  options->place.Add(command);
  options->place.AddWire(command);
  auto* replicas = command
                       ->add_flag("--replicas", options->replicas,
                                  "Run one network on every GPU, each a session, and print their throughput")
                       ->excludes("--strategy")
                       ->excludes(reset);
  command->add_flag("--in-graph", options->in_graph, "With --replicas: all of them in one graph and session")
      ->needs(replicas);
  command
      ->add_flag("--log-device-placement", options->log,
                 "Print the GPUs and one line per node, as TensorFlow does (with --json on standard error)")
      ->excludes(replicas);
  command->add_flag("--json", options->as_json, "Print JSON");
  AddExample(command, "lanescope run samples/graphs/polynomial.pbtxt --steps 20 --trace t.db");
  command->callback([options] {
    options->run.settings.timeout_ns = options->timeout_ms * 1000000;
    options->replicas ? RunEnsemble(*options) : RunGraph(*options);
  });
}

}  // namespace lanescope::cli
