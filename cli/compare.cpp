#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/report.h"
#include "cli/temporary_folder.h"
#include "core/error.h"
#include "core/file.h"
#include "exec/measure.h"
#include "sims/cost_model.h"
#include "sims/replay.h"

namespace lanescope::cli {
namespace {

struct Options {
  std::vector<std::string> graphs;
  std::vector<std::string> strategies;
  std::string trace, cost, sweep, plot, reference_step;
  MachineOptions machine;
  StepOptions step;
  PlaceOptions place;
  int steps = 10, rounds = 5, warmup = 3;
  bool no_run = false, as_json = false;
};

// A row while it is being measured.
struct Measurement {
  std::unique_ptr<RecordedRun> run;
  std::vector<double> round_medians;
};

void Progress(const std::string& text) { fmt::print(stderr, "{}\n", text); }

// "graph.pbtxt:single,alternating" names its own strategies; a graph without takes --strategies, or
// `annotated`. The graph ends at the first colon before which there is a file.
std::pair<std::string, std::vector<std::string>> SplitGraph(const std::string& text,
                                                            const std::vector<std::string>& strategies) {
  const size_t first = text.find(':');
  if (first != std::string::npos && !std::filesystem::exists(text)) {
    size_t colon = first;
    while (colon != std::string::npos && !std::filesystem::exists(text.substr(0, colon)))
      colon = text.find(':', colon + 1);
    if (colon == std::string::npos) colon = first;
    return {text.substr(0, colon), SplitAtCommas(text.substr(colon + 1))};
  }
  return {text, strategies.empty() ? std::vector<std::string>{"annotated"} : strategies};
}

class Comparer {
 public:
  explicit Comparer(const Options& options) : options_(options) {
    comparison_.machine = options.machine.Load();
  }

  Comparison Run() {
    LoadRows();
    if (!options_.reference_step.empty()) SlowLinks();
    PlaceRows();
    OpenTrace();
    if (!options_.no_run) Measure();
    Calibrate();
    Predict();
    writer_->Close();
    if (!options_.no_run) ReadBack();
    SweepLinks();
    comparison_.verdict = Verdict(comparison_);
    if (temporary_.has_value()) comparison_.trace.clear();
    return std::move(comparison_);
  }

 private:
  [[noreturn]] void ThrowInterrupted() const {
    Throw(Code::kCancelled, "interrupted{}",
          options_.trace.empty() ? "" : "; the trace holds what was measured");
  }

  void LoadRows() {
    for (const std::string& text : options_.graphs) {
      const auto [path, strategies] = SplitGraph(text, options_.strategies);
      workloads_.push_back(std::make_unique<Workload>(path, options_.step));
      for (const std::string& strategy : strategies) {
        ComparisonRow row;
        row.graph = workloads_.back()->name();
        row.strategy = strategy;
        row.placed.workload = workloads_.back().get();
        row.placed.strategy = strategy;
        comparison_.rows.push_back(std::move(row));
      }
    }
  }

  // Makes every link as much slower as this machine's arithmetic is slower than the reference's:
  // communication then weighs as it did there.
  void SlowLinks() {
    const double reference = static_cast<double>(ParseDuration(options_.reference_step));
    if (!(reference > 0)) Throw(Code::kInvalidArgument, "--reference-step must be a positive time");
    if (options_.no_run)
      Throw(Code::kInvalidArgument, "--reference-step needs a measurement; leave out --no-run");
    const ComparisonRow& row = comparison_.rows.front();
    RecordedRunOptions options;
    options.keep_events = true;
    RecordedRun probe(
        cli::Place(*row.placed.workload, row.strategy, comparison_.machine, blind_, options_.place),
        comparison_.machine, nullptr, options);
    probe.WarmUp(2);
    probe.RunSteps(5);
    probe.Finish();
    double busy = 0;
    for (const Event& event : probe.events()) {
      if (event.kind != EventKind::kCommand) continue;
      const Command& command = probe.schedule().commands[static_cast<size_t>(event.command)];
      const int device = probe.schedule().queues[static_cast<size_t>(command.queue)].device;
      if (command.kind == CommandKind::kLaunch && comparison_.machine.device(device).is_gpu())
        busy += static_cast<double>(event.end_ns - event.start_ns);
    }
    const double factor = busy / 5 / reference;
    comparison_.link_slowdown = factor;
    for (LinkSpec& link : comparison_.machine.links) {
      link.table.clear();
      link.bandwidth /= factor;
      link.latency_ns = static_cast<int64_t>(static_cast<double>(link.latency_ns) * factor);
    }
    for (BusSpec& bus : comparison_.machine.buses) bus.bandwidth /= factor;
    Progress(fmt::format(
        "GPU arithmetic of a step takes {} here, {:.2f} times the reference: links are slowed by that",
        FormatDuration(static_cast<int64_t>(busy / 5)), factor));
  }

  void PlaceRows() {
    for (ComparisonRow& row : comparison_.rows) {
      Guard(&row, [&] {
        row.placed =
            cli::Place(*row.placed.workload, row.strategy, comparison_.machine, blind_, options_.place);
        row.step = CompileStep(row.placed, comparison_.machine);
      });
    }
  }

  // Keeps a row's failure in the row, unless it says that nothing can go on.
  template <typename Function>
  void Guard(ComparisonRow* row, Function function) {
    if (row->failed.has_value()) return;
    try {
      function();
    } catch (const Error& error) {
      if (error.code() == Code::kCancelled) throw;
      row->failed = Failure{std::string(CodeName(error.code())), OneLine(error.message())};
      Progress(fmt::format("{}: {}", row->label(), OneLine(error.what())));
    }
  }

  void OpenTrace() {
    comparison_.trace = options_.trace;
    if (options_.trace.empty()) {
      temporary_.emplace();
      comparison_.trace = temporary_->path() + "/trace.db";
    }
    writer_ = std::make_unique<TraceWriter>(comparison_.trace);
  }

  void Measure() {
    Progress("measuring links and interference");
    host_ = exec::MeasureHost(comparison_.machine);
    links_ = exec::MeasureLinks(comparison_.machine, 8 << 20);
    measurements_.resize(comparison_.rows.size());
    for (size_t i = 0; i < measurements_.size(); ++i) {
      ComparisonRow& row = comparison_.rows[i];
      Guard(&row, [&] {
        RecordedRunOptions options;
        options.keep_events = true;
        options.copy_cores = host_.copy_cores;
        measurements_[i].run =
            std::make_unique<RecordedRun>(row.placed, comparison_.machine, writer_.get(), options);
        measurements_[i].run->WarmUp(options_.warmup);
      });
    }
    try {
      RunRounds();
    } catch (...) {
      FinishRuns("Cancelled: interrupted");
      writer_->Close();
      throw;
    }
    FinishRuns("");
  }

  // Rounds are interleaved over the rows, so that what drifts drifts for all.
  void RunRounds() {
    for (int round = 0; round < options_.rounds; ++round) {
      Progress(fmt::format("round {} of {}: {} steps of each of {} rows", round + 1, options_.rounds,
                           options_.steps, measurements_.size()));
      for (size_t i = 0; i < measurements_.size(); ++i) {
        Measurement& measurement = measurements_[i];
        if (measurement.run == nullptr || comparison_.rows[i].failed.has_value()) continue;
        Guard(&comparison_.rows[i], [&] {
          measurement.run->WarmUp(1);
          const size_t before = measurement.run->step_ns().size();
          if (!measurement.run->RunSteps(options_.steps)) ThrowInterrupted();
          const auto& all = measurement.run->step_ns();
          measurement.round_medians.push_back(
              Median(std::vector<double>(all.begin() + static_cast<ptrdiff_t>(before), all.end())));
        });
      }
    }
  }

  void FinishRuns(const std::string& error) {
    for (size_t i = 0; i < measurements_.size(); ++i) {
      if (measurements_[i].run == nullptr) continue;
      const auto& failed = comparison_.rows[i].failed;
      measurements_[i].run->Finish(failed.has_value() ? failed->code + ": " + failed->message : error);
    }
  }

  // From the first row and the microbenchmarks alone.
  void Calibrate() {
    if (!options_.cost.empty()) {
      costs_ = std::make_unique<CalibratedCost>(ReadCostTable(options_.cost));
      comparison_.prediction_of = "calibrated on " + costs_->table().calibrated_on;
      return;
    }
    comparison_.prediction_of = "uncalibrated";
    if (options_.no_run || measurements_.front().run == nullptr ||
        comparison_.rows.front().failed.has_value())
      return;
    const RecordedRun& first = *measurements_.front().run;
    const std::string origin = fmt::format("run {} ({})", first.run_id(), comparison_.rows.front().label());
    const Machine& machine = comparison_.machine;
    costs_ = std::make_unique<CalibratedCost>(
        FitCosts(SamplesOf(first, machine), links_, &host_, machine, origin));
    comparison_.prediction_of = "calibrated on " + origin;
    in_sample_row_ = 0;
    const auto steps = GroupSteps(first.schedule(), first.events(), 0);
    const ReplayReport replay = ReplaySteps(first.schedule(), machine, steps, costs_->table().gaps);
    Progress(fmt::format("identity replay of the first row: {:+.2f}% of its step time", 100 * replay.error));
  }

  void Predict() {
    const CostModel& costs = costs_ != nullptr ? static_cast<const CostModel&>(*costs_) : blind_;
    settings_ = costs_ != nullptr ? SettingsOf(*costs_) : PredictionSettings{};
    for (size_t i = 0; i < comparison_.rows.size(); ++i) {
      ComparisonRow& row = comparison_.rows[i];
      if (!row.step.has_value()) continue;
      const Workload& workload = *row.placed.workload;
      if (Interrupted().load()) ThrowInterrupted();
      PredictedRow predicted;
      predicted.steps = std::max(1, options_.steps);
      predicted.prediction = lanescope::Predict(workload.graph(), workload.info(), row.step->schedule,
                                                comparison_.machine, costs, settings_);
      predicted.in_sample = static_cast<int>(i) == in_sample_row_;
      row.step->placed = &row.placed;
      predicted.run = WritePrediction(writer_.get(), *row.step, comparison_.machine, predicted.prediction,
                                      predicted.steps, comparison_.prediction_of, predicted.in_sample);
      row.predicted = std::move(predicted);
    }
  }

  // The figures of the report come from the file that everybody else can read too.
  void ReadBack() {
    TraceReader reader(comparison_.trace);
    for (size_t i = 0; i < comparison_.rows.size(); ++i) {
      const Measurement& measurement = measurements_[i];
      if (measurement.run == nullptr || measurement.round_medians.empty()) continue;
      MeasuredRow measured;
      measured.run = measurement.run->run_id();
      const TraceRun run = reader.ReadRun(measured.run);
      measured.statistics = ComputeStatistics(run);
      for (const TraceDevice& device : run.devices) {
        const int number = comparison_.machine.FindDevice(device.name);
        const auto busy = measured.statistics.busy.find(device.id);
        if (number >= 0 && busy != measured.statistics.busy.end()) measured.busy[number] = busy->second;
      }
      measured.summary = Summarize(comparison_.trace, measured.run);
      measured.oversubscribed = measurement.run->oversubscribed();
      if (!measured.statistics.step_ns.has_value()) continue;
      const double median = measured.statistics.step_ns->median;
      for (const double round : measurement.round_medians)
        measured.noise = std::max(measured.noise, std::abs(round - median) / median);
      measured.critical_path_ns = MeasuredCriticalPath(*measurement.run, median);
      comparison_.rows[i].measured = std::move(measured);
    }
  }

  int64_t MeasuredCriticalPath(const RecordedRun& run, double median) const {
    const auto steps = GroupSteps(run.schedule(), run.events(), 0);
    const MeasuredStep* middle = nullptr;
    const auto distance = [&](const MeasuredStep& step) {
      return std::abs(static_cast<double>(step.end_ns - step.start_ns) - median);
    };
    for (const MeasuredStep& step : steps) {
      if (middle == nullptr || distance(step) < distance(*middle)) middle = &step;
    }
    if (middle == nullptr) return 0;
    const SimulationResult result = AsSimulation(run.schedule(), *middle);
    const CriticalPath path = FindCriticalPath(run.schedule(), comparison_.machine, result, settings_.gaps);
    return path.launch_ns + path.copy_ns;
  }

  void SweepLinks() {
    const std::vector<int> links = LinksBetweenGpus(comparison_.machine);
    if (links.empty()) return;
    SweepRange range;
    if (!options_.sweep.empty()) {
      range = ParseSweep(options_.sweep, comparison_.machine);
    } else {
      range.links = links;
      const double now = comparison_.machine.links[static_cast<size_t>(links.front())].bandwidth;
      range.low = now / 100;
      range.high = now * 1000;
    }
    std::vector<SweepCandidate> candidates;
    for (size_t i = 0; i < comparison_.rows.size(); ++i) {
      const ComparisonRow& row = comparison_.rows[i];
      if (!row.step.has_value()) continue;
      comparison_.sweep_rows.push_back(static_cast<int>(i));
      candidates.push_back(
          {row.label(), &row.placed.workload->graph(), &row.placed.workload->info(), &row.step->schedule});
    }
    if (candidates.empty()) return;
    const CostModel& costs = costs_ != nullptr ? static_cast<const CostModel&>(*costs_) : blind_;
    PredictionSettings settings = settings_;
    settings.draws = 0;
    comparison_.sweep = RunSweep(comparison_.machine, costs, settings, candidates, range);
    if (!options_.plot.empty())
      WriteFile(options_.plot, SweepSvg(*comparison_.sweep, "Step time by link bandwidth"));
  }

  const Options& options_;
  Comparison comparison_;
  std::optional<TemporaryFolder>
      temporary_;  // of the trace, where nobody wants to keep it; outlives the writer
  std::vector<std::unique_ptr<Workload>> workloads_;
  std::unique_ptr<TraceWriter> writer_;
  std::vector<Measurement> measurements_;
  exec::HostMeasurement host_;
  std::vector<exec::LinkTime> links_;
  RooflineCost blind_;
  std::unique_ptr<CalibratedCost> costs_;
  PredictionSettings settings_;
  int in_sample_row_ = -1;

 public:
  // Rows refer to these.
  std::vector<std::unique_ptr<Workload>> TakeWorkloads() { return std::move(workloads_); }
};

void Run(const Options& options) {
  Comparer comparer(options);
  const Comparison comparison = comparer.Run();
  const auto workloads = comparer.TakeWorkloads();
  if (options.as_json) {
    fmt::print("{}\n", JsonText(ComparisonJson(comparison)));
  } else {
    PrintComparison(comparison);
    if (!options.sweep.empty() && comparison.sweep.has_value()) PrintSweep(*comparison.sweep);
    if (!options.plot.empty()) fmt::print("plot: {}\n", options.plot);
    fmt::print("\n{}\n", comparison.verdict);
  }
  const bool all_failed = std::all_of(comparison.rows.begin(), comparison.rows.end(),
                                      [](const ComparisonRow& row) { return row.failed.has_value(); });
  if (all_failed)
    Throw(Code::kFailedPrecondition, "no row could be compared; the first one says: {}",
          comparison.rows.front().failed->message);
}

}  // namespace

void AddCompare(CLI::App* app) {
  auto* command =
      app->add_subcommand("compare", "Run and simulate several placements, print which is faster and why");
  auto options = std::make_shared<Options>();
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
  command->add_option("--warmup", options->warmup, "Steps of a row before that")
      ->capture_default_str()
      ->check(CLI::Range(0, 10000));
  command->add_option("--cost", options->cost,
                      "Cost model to predict with, instead of one calibrated on the first row");
  command->add_option(
      "--reference-step", options->reference_step,
      "GPU time of a step of the first row on the machine that the links are of: links are slowed to match");
  command->add_option("--sweep", options->sweep,
                      "link.bandwidth=LOW..HIGH: simulate over this range and print where rows cross");
  command->add_option("--plot", options->plot, "Write the sweep as SVG");
  command->add_flag("--no-run", options->no_run, "Simulate only");
  options->machine.Add(command);
  options->step.Add(command);
  options->place.Add(command);
  command->add_flag("--json", options->as_json, "Print JSON");
  command->callback([options] { Run(*options); });
}

}  // namespace lanescope::cli
