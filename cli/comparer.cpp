#include "cli/comparer.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/interrupt.h"
#include "cli/link_slowdown.h"
#include "cli/placement_log.h"
#include "cli/print.h"
#include "cli/report.h"
#include "core/error.h"
#include "core/interrupt_reason.h"
#include "sims/replay.h"

namespace lanescope::cli {
namespace {

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

}  // namespace

Comparer::Comparer(const CompareOptions& options)
    : options_(options), measurements_(&comparison_.rows, comparison_.machine) {
  comparison_.machine = options.machine.Load();
}

Comparison Comparer::Run() {
  if (!options_.sweep.empty())
    ParseSweep(options_.sweep, comparison_.machine);  // before anything is measured
  LoadRows();
  if (!options_.reference_step.empty()) MatchReference();
  PlaceRows();
  OpenTrace();
  if (!options_.no_run) Measure();
  Calibrate();
  Predict();
  PredictRepeats();
  writer_->Close();
  if (!options_.no_run) ReadBack();
  // Only computing and printing is left.
  temporary_.reset();
  in_order_.reset();
  ThrowIfInterrupted();
  SweepLinks();
  comparison_.verdict = Verdict(comparison_);
  comparison_.trace = options_.trace;
  return std::move(comparison_);
}

void Comparer::LoadRows() {
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

void Comparer::MatchReference() {
  if (options_.no_run)
    Throw(Code::kInvalidArgument, "--reference-step needs a measurement; leave out --no-run");
  const ComparisonRow& row = comparison_.rows.front();
  const PlacedGraph placed =
      cli::Place(*row.placed.workload, row.strategy, comparison_.machine, blind_, options_.place);
  comparison_.link_slowdown = SlowLinks(placed, options_.reference_step, &comparison_.machine);
}

void Comparer::PlaceRows() {
  const auto log = [&](const std::string& lines) { options_.as_json ? PrintNotes(lines) : PrintText(lines); };
  if (options_.log) log(DeviceMapping(comparison_.machine));
  for (ComparisonRow& row : comparison_.rows) {
    Guard(&row, [&] {
      std::vector<int> order;
      PlaceOptions place = options_.place;
      if (options_.log) place.order = &order;
      row.placed = cli::Place(*row.placed.workload, row.strategy, comparison_.machine, blind_, place);
      if (options_.log) {
        log(Printable(row.label()) + "\n" + PlacementLog(row.placed, comparison_.machine, order));
      }
      row.step = CompileStep(row.placed, comparison_.machine);
    });
  }
}

void Comparer::OpenTrace() {
  in_order_.emplace();
  comparison_.trace = options_.trace;
  if (options_.trace.empty()) {
    temporary_.emplace();
    comparison_.trace = temporary_->path() + "/trace.db";
  }
  writer_ = std::make_unique<TraceWriter>(comparison_.trace);
}

void Comparer::Measure() {
  PrintNote("measuring links, hand-offs and interference\n");
  try {
    machine_ = MeasureMachine(comparison_.machine);
    measurements_.Start(writer_.get(), machine_.host.copy_cores, options_.warmup);
    measurements_.RunRounds(options_.rounds, options_.steps);
  } catch (...) {
    const std::string reason = InterruptReason(InterruptSignal().load());
    measurements_.Finish("Cancelled: " + reason);
    writer_->Close();
    if (!Interrupted().load()) throw;
    Throw(Code::kCancelled, "{}{}", reason,
          options_.trace.empty() ? "" : "; the trace holds what was measured");
  }
  measurements_.Finish("");
}

CostTable Comparer::CostsOf(StepRange steps) const {
  const RecordedRun& first = *measurements_.run(0);
  const std::string origin = fmt::format("run {} ({})", first.run_id(), comparison_.rows.front().label());
  return FitCosts(SamplesOf(first, comparison_.machine, steps), &machine_, comparison_.machine, origin);
}

void Comparer::Calibrate() {
  comparison_.prediction_of = "uncalibrated";
  if (!options_.cost.empty()) {
    calibrated_ = std::make_unique<CalibratedCost>(ReadCostTable(options_.cost));
  } else if (measurements_.run(0) != nullptr && !comparison_.rows.front().failed.has_value()) {
    calibrated_ = std::make_unique<CalibratedCost>(CostsOf({}));
    in_sample_row_ = 0;
    const RecordedRun& first = *measurements_.run(0);
    const auto steps = GroupSteps(first.schedule(), first.events(), 0);
    comparison_.replay_error =
        ReplaySteps(first.schedule(), comparison_.machine, steps, calibrated_->table().gaps).error;
    PrintNote("identity replay of the first row: {:+.2f}% of its step time\n",
              100 * *comparison_.replay_error);
  }
  if (calibrated_ == nullptr) return;
  comparison_.prediction_of = "calibrated on " + calibrated_->table().calibrated_on;
  settings_ = SettingsOf(*calibrated_);
}

const CostModel& Comparer::costs() const {
  return calibrated_ != nullptr ? static_cast<const CostModel&>(*calibrated_) : blind_;
}

void Comparer::Predict() {
  for (size_t i = 0; i < comparison_.rows.size(); ++i) {
    ComparisonRow& row = comparison_.rows[i];
    if (!row.step.has_value()) continue;
    ThrowIfInterrupted();
    const Workload& workload = *row.placed.workload;
    PredictedRow predicted;
    predicted.steps = options_.steps;
    predicted.prediction = lanescope::Predict(workload.graph(), workload.info(), row.step->schedule,
                                              comparison_.machine, costs(), settings_);
    predicted.in_sample = static_cast<int>(i) == in_sample_row_;
    row.step->placed = &row.placed;
    predicted.run = WritePrediction(writer_.get(), *row.step, comparison_.machine, predicted.prediction,
                                    predicted.steps, calibrated_ != nullptr ? &calibrated_->table() : nullptr,
                                    comparison_.prediction_of, predicted.in_sample);
    row.predicted = std::move(predicted);
  }
}

// Each repeat by itself. With a given cost model the prediction is the same in all.
void Comparer::PredictRepeats() {
  if (options_.no_run) return;
  for (const StepRange range : RepeatRanges(options_.rounds, options_.steps, options_.repeats)) {
    ThrowIfInterrupted();
    std::unique_ptr<CalibratedCost> own;
    if (in_sample_row_ == 0) own = std::make_unique<CalibratedCost>(CostsOf(range));
    PredictionSettings settings = own != nullptr ? SettingsOf(*own) : settings_;
    settings.draws = 0;
    const CostModel& model = own != nullptr ? static_cast<const CostModel&>(*own) : costs();
    for (size_t i = 0; i < comparison_.rows.size(); ++i) {
      ComparisonRow& row = comparison_.rows[i];
      if (row.failed.has_value() || !row.step.has_value() || measurements_.run(i) == nullptr) continue;
      const Workload& workload = *row.placed.workload;
      const Prediction prediction = lanescope::Predict(workload.graph(), workload.info(), row.step->schedule,
                                                       comparison_.machine, model, settings);
      row.repeats.push_back({measurements_.MedianStep(i, range), prediction.step_ns});
    }
  }
}

// The figures of the report come from the file that everybody else can read too.
void Comparer::ReadBack() {
  TraceReader reader(comparison_.trace);
  for (size_t i = 0; i < comparison_.rows.size(); ++i) {
    const RecordedRun* recorded = measurements_.run(i);
    if (recorded == nullptr || measurements_.complete_rounds(i) == 0) continue;
    MeasuredRow measured;
    measured.run = recorded->run_id();
    const TraceRun run = reader.ReadRun(measured.run);
    measured.statistics = ComputeStatistics(run);
    for (const TraceDevice& device : run.devices) {
      const int number = comparison_.machine.FindDevice(device.name);
      const auto busy = measured.statistics.busy.find(device.id);
      if (number >= 0 && busy != measured.statistics.busy.end()) measured.busy[number] = busy->second;
    }
    measured.summary = Summarize(comparison_.trace, measured.run);
    measured.oversubscribed = recorded->oversubscribed();
    if (!measured.statistics.step_ns.has_value()) continue;
    const double median = measured.statistics.step_ns->median;
    measured.noise = measurements_.Noise(i, median);
    measured.critical_path_ns = MeasuredCriticalPath(*recorded, comparison_.machine, settings_.gaps, median);
    comparison_.rows[i].measured = std::move(measured);
  }
}

void Comparer::SweepLinks() {
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
  PredictionSettings settings = settings_;
  settings.draws = 0;
  comparison_.sweep = RunSweep(comparison_.machine, costs(), settings, candidates, range);
}

}  // namespace lanescope::cli
