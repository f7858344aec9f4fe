// SPDX-License-Identifier: Apache-2.0
#include "study/compare/comparer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/runs/run_profile.h"
#include "core/strategies/strategy.h"
#include "sims/fit/step_samples.h"
#include "sims/predict/replay.h"
#include "sims/steps/measured_steps.h"
#include "study/measure/handoff_chain.h"
#include "study/measure/link_slowdown.h"
#include "study/measure/message_times.h"
#include "study/measure/participant.h"
#include "study/measure/run_capture.h"
#include "traces/read/recorded_schedule.h"
#include "traces/read/trace_reader.h"
#include "traces/read/trace_view.h"

namespace lanescope::study {
Comparer::Comparer(ComparisonRequest request)
    : request_(std::move(request)),
      job_(request_.job != nullptr ? *request_.job : alone_),
      measurements_(&comparison_.rows, comparison_.machine, &job_) {
  comparison_.machine = request_.machine;
  for (const ComparedGraph& graph : request_.graphs) {
    workloads_.push_back(graph.workload ? graph.workload
                                        : std::make_shared<const Workload>(graph.path, request_.step));
    for (size_t i = 0; i < graph.strategies.size(); ++i) {
      const std::string& strategy = graph.strategies[i];
      const std::string name = graph.names.empty() ? StrategyLabel(strategy) : graph.names[i];
      AddRow(strategy, name, WireFormat::kFloat32);
      if (request_.place.wire != WireFormat::kFloat32) AddRow(strategy, name, request_.place.wire);
    }
  }
}

void Comparer::AddRow(const std::string& strategy, const std::string& name, WireFormat wire) {
  ComparisonRow row;
  row.graph = workloads_.back()->name();
  row.asked = strategy;
  row.strategy = name;
  row.wire = wire;
  row.placed.workload = workloads_.back().get();
  row.placed.strategy = row.strategy;
  comparison_.rows.push_back(std::move(row));
}

Comparison Comparer::Run() {
  if (request_.reference_step_ns > 0) {
    if (job_.is_shared())
      Throw(Code::kUnimplemented, "a reference step is measured in one process; start it alone");
    const ComparisonRow& row = comparison_.rows.front();
    const PlacedGraph placed =
        Place(*row.placed.workload, row.asked, comparison_.machine, RooflineCost(), request_.place);
    comparison_.link_slowdown =
        SlowLinks(placed, request_.reference_step_ns, RunOptions(), &comparison_.machine);
  }
  PlaceRows();
  OpenTrace();
  if (request_.run) Measure();
  if (!job_.is_first()) return std::move(comparison_);
  Calibrate();
  Predict();
  FindBounds();
  PredictRepeats();
  writer_->Close();
  if (request_.run) ReadBack();
  // Only computing is left.
  temporary_.reset();
  in_order_.reset();
  CheckCancelled();
  SweepLinks();
  comparison_.verdict = Verdict(comparison_);
  comparison_.trace = request_.trace;
  return std::move(comparison_);
}

void Comparer::CheckCancelled() const {
  if (request_.cancellation != nullptr) request_.cancellation->Check();
}

RecordedRunOptions Comparer::RunOptions() const {
  RecordedRunOptions options;
  options.settings = request_.settings;
  options.keep_events = true;
  options.cancellation = request_.cancellation;
  options.note = request_.note;
  options.participant = ProcessOfJob(&job_, true);
  return options;
}

// All processes have read the same graphs, and place them alike.
void Comparer::RequireSameRows() const {
  const std::string settings =
      fmt::format("{} {} {} {} {}", request_.steps, request_.rounds, request_.warmup,
                  request_.settings.seed.has_value(), request_.settings.seed.value_or(0));
  for (const ComparisonRow& row : comparison_.rows) {
    if (!row.failed.has_value()) job_.RequireSame(row.placed, comparison_.machine, settings);
  }
}

void Comparer::PlaceRows() {
  for (ComparisonRow& row : comparison_.rows) {
    Guard(&row, request_.note, [&] {
      std::vector<NodeId> order;
      PlaceOptions place = request_.place;
      place.wire = row.wire;
      if (request_.on_placed) place.order = &order;
      row.placed = Place(*row.placed.workload, row.asked, comparison_.machine, RooflineCost(), place);
      // The wire format's addition stands behind the name.
      row.placed.strategy.replace(0, StrategyLabel(row.asked).size(), row.strategy);
      if (request_.on_placed) request_.on_placed(row, order);
      row.schedule = CompileStep(row.placed, comparison_.machine);
    });
  }
}

void Comparer::OpenTrace() {
  if (request_.cancellation != nullptr) in_order_.emplace(request_.cancellation);
  comparison_.trace = request_.trace;
  if (!job_.is_first()) return;
  if (request_.trace.empty()) {
    temporary_.emplace();
    comparison_.trace = temporary_->path() + "/trace.db";
  }
  writer_ = std::make_unique<traces::TraceWriter>(comparison_.trace);
}

// Null: commands of GPUs are timed by events, and whoever asked for more is told why.
RunCapture* Comparer::UsableCapture() const {
  RunCapture* const capture = request_.capture;
  if (capture == nullptr) return nullptr;
  const std::string problem =
      job_.is_shared() ? "a comparison of several processes times commands by events" : capture->problem();
  if (problem.empty()) return capture;
  capture->Stop();
  if (capture->is_asked_for()) Tell(request_.note, "note: GPU activity is not captured: " + problem);
  return nullptr;
}

void Comparer::Measure() {
  RequireSameRows();
  try {
    RecordedRunOptions options = RunOptions();
    options.capture = UsableCapture();
    if (options.capture != nullptr) options.capture->SetRecording(false);
    std::unique_ptr<RecordedChain> handoffs;
    Tell(request_.note, "measuring links and interference");
    measured_machine_ = job_.is_shared() ? MeasureMachineOf(comparison_.machine, job_.transport(),
                                                            request_.cancellation, request_.note)
                                         : MeasureMachine(comparison_.machine, request_.cancellation);
    if (job_.is_first()) {
      options.copy_cores = measured_machine_.host.copy_cores;
      options.watch_others = true;
    }
    measurements_.Start(writer_.get(), options, request_.warmup);
    if (job_.is_first()) handoffs = MakeHandoffChain(comparison_.machine, request_.cancellation);
    const auto messages = MakeMessageChain(comparison_.machine, &job_, request_.cancellation);
    const auto small = MakeSmallMessageChain(comparison_.machine, &job_, request_.cancellation);
    measurements_.RunRounds(
        request_.rounds, request_.steps,
        [&] {
          if (handoffs != nullptr) handoffs->Run();
        },
        [&] {
          if (messages != nullptr) messages->Run();
          if (small != nullptr) small->Run();
        });
    if (handoffs != nullptr) measured_machine_.handoffs = handoffs->Finish();
    if (messages != nullptr) AddMessages(messages->Finish(), small->Finish());
  } catch (...) {
    const bool cancelled = request_.cancellation != nullptr && request_.cancellation->cancelled();
    const std::string reason = cancelled ? request_.cancellation->Reason() : "the comparison failed";
    measurements_.Finish("Cancelled: " + reason);
    if (writer_ != nullptr) writer_->Close();
    if (!cancelled) throw;
    Throw(Code::kCancelled, "{}{}", reason,
          request_.trace.empty() ? "" : "; the trace holds what was measured");
  }
  measurements_.Finish("");
}

// Links between tasks are what messages over them take.
void Comparer::AddMessages(ChainRun run, ChainRun small) {
  const std::vector<exec::LinkTime> messages = TimesOfMessages(comparison_.machine, run);
  measured_machine_.messages = std::move(run);
  measured_machine_.small_messages = std::move(small);
  std::erase_if(measured_machine_.links, [&](const exec::LinkTime& link) {
    return IsMessage(comparison_.machine, link.src, link.dst);
  });
  measured_machine_.links.insert(measured_machine_.links.end(), messages.begin(), messages.end());
  measures_messages_ = !messages.empty();
}

sims::CostTable Comparer::CostsOf(const std::vector<char>& steps) const {
  const RecordedRun& first = *measurements_.run(0);
  const std::string origin = fmt::format("run {} ({})", first.run_id(), comparison_.rows.front().label());
  sims::CalibrationInput samples = FirstSamples(steps);
  if (measures_messages_) {
    // Copies of a step wait for each other.
    std::erase_if(samples.copies, [&](const sims::CopySample& copy) {
      return IsMessage(comparison_.machine, copy.src, copy.dst);
    });
  }
  return FitCosts(samples, &measured_machine_, comparison_.machine, origin);
}

// The times of a capture are in the trace alone.
void Comparer::ReadFirstRow() {
  const RecordedRun& first = *measurements_.run(0);
  if (first.timing().commands != CommandTiming::kProfiler) return;
  writer_->Flush();
  first_row_ = traces::TraceReader(comparison_.trace).ReadRun(first.run_id());
  const traces::RecordedSchedule recorded = traces::ReadSchedule(*first_row_, 0, comparison_.machine);
  if (!sims::GroupSteps(recorded.schedule, recorded.events, 0).empty()) return;
  Tell(request_.note,
       "note: the profiler recorded no step of the first row completely, so that nothing is calibrated; "
       "--profile off times commands by events");
}

sims::CalibrationInput Comparer::FirstSamples(const std::vector<char>& steps) const {
  if (!first_row_.has_value()) return SamplesOf(*measurements_.run(0), comparison_.machine, steps);
  traces::TraceRun run = *first_row_;
  for (traces::TraceStep& step : run.steps) {
    const auto number = static_cast<size_t>(step.step);
    step.counts = number < steps.size() && steps[number] != 0;
  }
  return SamplesOf(run, comparison_.machine);
}

double Comparer::FirstReplayError(const sims::EffectSet& effects) const {
  const auto error_of = [&](const Schedule& schedule, const std::vector<Event>& events) {
    const auto steps = sims::GroupSteps(schedule, events, 0);
    return sims::ReplaySteps(schedule, comparison_.machine, steps, effects).error;
  };
  if (first_row_.has_value()) {
    const traces::RecordedSchedule recorded = traces::ReadSchedule(*first_row_, 0, comparison_.machine);
    return error_of(recorded.schedule, recorded.events);
  }
  const RecordedRun& first = *measurements_.run(0);
  return error_of(*first.schedule(),
                  sims::WithoutInput(InputRunOf(first, comparison_.machine, first.events())));
}

void Comparer::Calibrate() {
  if (request_.costs.has_value()) {
    predictor_.emplace(comparison_.machine, *request_.costs);
  } else if (measurements_.run(0) != nullptr && !comparison_.rows.front().failed.has_value()) {
    ReadFirstRow();
    predictor_.emplace(comparison_.machine, CostsOf(measurements_.CountedSteps(0)));
    in_sample_row_ = 0;
    comparison_.replay_error = FirstReplayError(predictor_->table()->effects);
    Tell(request_.note, fmt::format("identity replay of the first row: {} of its step time",
                                    SignedPercentText(*comparison_.replay_error, 2)));
  } else {
    predictor_.emplace(comparison_.machine);
  }
  comparison_.prediction_of = predictor_->origin();
}

void Comparer::Predict() {
  for (size_t i = 0; i < comparison_.rows.size(); ++i) {
    ComparisonRow& row = comparison_.rows[i];
    if (!row.schedule.has_value()) continue;
    CheckCancelled();
    PredictedRow predicted;
    predicted.steps = request_.steps;
    predicted.prediction = predictor_->Predict(*row.placed.workload, *row.schedule);
    if (request_.ablate) {
      predicted.without_ns =
          predictor_->Ablate(*row.placed.workload, *row.schedule,
                             request_.cancellation != nullptr ? &request_.cancellation->flag() : nullptr);
    }
    predicted.in_sample = static_cast<int>(i) == in_sample_row_;
    predicted.run =
        RecordPrediction(writer_.get(), row.placed, *row.schedule, *predictor_, predicted.prediction,
                         {predicted.steps, predicted.in_sample, request_.cancellation});
    row.predicted = std::move(predicted);
  }
}

void Comparer::FindBounds() {
  std::set<const Workload*> bounded;
  for (const ComparisonRow& row : comparison_.rows) {
    if (!row.predicted || row.wire != WireFormat::kFloat32 || !bounded.insert(row.placed.workload).second)
      continue;
    CheckCancelled();
    try {
      const std::string name =
          row.placed.written ? row.graph + " as " + row.strategy + " writes it" : row.graph;
      comparison_.bounds.push_back({name, predictor_->BoundOf(*row.placed.workload)});
    } catch (const Error& error) {
      Tell(request_.note, fmt::format("{} has no lower bound: {}", row.graph, error.message()));
    }
  }
}

// Each repeat by itself. With given costs the prediction is the same in all.
void Comparer::PredictRepeats() {
  if (!request_.run) return;
  const int rounds = measurements_.rounds();
  const int repeats = std::min(rounds, request_.repeats);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    CheckCancelled();
    const RoundRange range{rounds * repeat / repeats, rounds * (repeat + 1) / repeats};
    const Predictor predictor =
        in_sample_row_ == 0 ? Predictor(comparison_.machine, CostsOf(measurements_.CountedSteps(0, range)))
                            : *predictor_;
    for (size_t i = 0; i < comparison_.rows.size(); ++i) {
      ComparisonRow& row = comparison_.rows[i];
      if (row.failed.has_value() || !row.schedule.has_value() || measurements_.run(i) == nullptr) continue;
      const sims::Prediction prediction =
          predictor.Predict(*row.placed.workload, *row.schedule, {.draws = 0});
      row.repeats.push_back({measurements_.MedianStep(i, range), prediction.step_ns});
    }
  }
}

// The figures of the report come from the file that everybody else can read too.
void Comparer::ReadBack() {
  std::optional<traces::TraceReader> reader;  // where nothing ran there may be no trace
  for (size_t i = 0; i < comparison_.rows.size(); ++i) {
    const RecordedRun* recorded = measurements_.run(i);
    if (recorded == nullptr || measurements_.complete_rounds(i) == 0) continue;
    MeasuredRow measured;
    measured.run = recorded->run_id();
    if (!reader) reader.emplace(comparison_.trace);
    const traces::TraceRun run = reader->ReadRun(measured.run);
    const PathSums path = PathSumsOf(ProfileRun(traces::ViewOfRun(run)));
    measured.critical_path_ns = std::llround(path.launch_ns + path.transfer_ns);
    measurements_.Describe(i, &measured);
    measured.statistics = traces::ComputeStatistics(run);
    measured.command_timing = run.info.command_timing;
    measured.pair_ns = run.info.pair_ns;
    measured.all_steps_count = run.all_disturbed;
    for (const traces::TraceDevice& device : run.devices) {
      const DeviceId number = comparison_.machine.FindDevice(device.name);
      const auto busy = measured.statistics.busy.find(device.id);
      if (number.exists() && busy != measured.statistics.busy.end()) measured.busy[number] = busy->second;
    }
    measured.summary = traces::Summarize(comparison_.trace, measured.run);
    measured.oversubscribed = recorded->oversubscribed();
    if (!measured.statistics.step_ns.has_value()) continue;
    const double median = measured.statistics.step_ns->median;
    measured.noise = measurements_.Noise(i, median);
    comparison_.rows[i].measured = std::move(measured);
  }
}

void Comparer::SweepLinks() {
  sims::SweepRange range;
  range.links = sims::LinksBetweenGpus(comparison_.machine);
  if (range.links.empty()) return;
  const double now = comparison_.machine.links[static_cast<size_t>(range.links.front())].bandwidth;
  range.low = now / 100;
  range.high = now * 1000;
  if (request_.sweep.has_value()) range = *request_.sweep;
  std::vector<SweptStep> steps;
  for (size_t i = 0; i < comparison_.rows.size(); ++i) {
    const ComparisonRow& row = comparison_.rows[i];
    if (!row.schedule.has_value()) continue;
    comparison_.sweep_rows.push_back(static_cast<int>(i));
    steps.push_back({row.label(), row.placed.workload, &*row.schedule});
  }
  if (!steps.empty()) comparison_.sweep = predictor_->SweepLinks(steps, range);
}

}  // namespace lanescope::study
