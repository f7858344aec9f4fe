// SPDX-License-Identifier: Apache-2.0
#include "study/predict/trace_accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/machine/machine.h"
#include "sims/cost/cost_model.h"
#include "sims/effects/effect.h"
#include "sims/predict/predict.h"
#include "study/predict/calibration.h"
#include "study/predict/run_replay.h"
#include "traces/read/recorded_schedule.h"
#include "traces/read/trace_reader.h"

namespace lanescope::study {
namespace {

// Median of the steps that count, and how far rounds lie from it.
void Describe(const traces::TraceRun& run, RunAccuracy* accuracy) {
  std::vector<double> all;
  std::map<int, std::vector<double>> rounds;
  for (const traces::TraceStep& step : run.time_steps()) {
    if (!step.counts) continue;
    all.push_back(static_cast<double>(step.end_ns - step.start_ns));
    rounds[step.round].push_back(all.back());
  }
  accuracy->measured_ns = Median(std::move(all));
  for (auto& [round, steps] : rounds) {
    const double distance = std::abs(Median(std::move(steps)) - accuracy->measured_ns);
    accuracy->noise = std::max(accuracy->noise, distance / accuracy->measured_ns);
  }
}

class RunPredictor {
 public:
  RunPredictor(const Machine& machine, sims::CostTable table, const TraceAccuracyOptions& options)
      : machine_(machine), costs_(std::move(table)), options_(options) {}

  void Predict(const traces::RecordedSchedule& recorded, RunAccuracy* accuracy) const {
    sims::PredictionSettings settings = sims::SettingsOf(costs_.table());
    settings.draws = options_.draws;
    const sims::Prediction prediction = PredictWith(recorded, settings);
    accuracy->predicted_ns = prediction.step_ns;
    accuracy->low_ns = prediction.low_ns;
    accuracy->high_ns = prediction.high_ns;
    if (!options_.ablate) return;
    settings.draws = 0;
    for (const sims::EffectKind* effect : sims::AllEffects()) {
      sims::PredictionSettings without = settings;
      without.effects.Remove(*effect);
      accuracy->without_ns.push_back(PredictWith(recorded, without).step_ns);
    }
  }

 private:
  sims::Prediction PredictWith(const traces::RecordedSchedule& recorded,
                               const sims::PredictionSettings& settings) const {
    const sims::CommandEstimates estimates =
        sims::EstimateCommands(recorded.schedule, recorded.work, machine_, costs_, settings);
    return lanescope::sims::Predict(recorded.schedule, machine_, estimates, settings);
  }

  const Machine& machine_;
  const sims::CalibratedCost costs_;
  const TraceAccuracyOptions options_;
};

// The runs of a graph on a machine, of which the first calibrates.
class Experiment {
 public:
  Experiment(const traces::TraceRunInfo& first, traces::TraceReader* reader,
             const TraceAccuracyOptions& options)
      : first_(first),
        reader_(*reader),
        machine_(ParseMachine(first.machine_json)),
        predictor_(machine_, CalibrateOnRun(reader, first.id), options),
        replays_(options.replay) {}

  bool Has(const traces::TraceRunInfo& info) const {
    return info.machine_json == first_.machine_json && info.graph == first_.graph;
  }

  void Predict(const traces::TraceRun& run, RunAccuracy* accuracy) const {
    accuracy->in_sample = accuracy->run == first_.id;
    const traces::RecordedSchedule recorded = traces::ReadSchedule(run, 0, machine_);
    predictor_.Predict(recorded, accuracy);
    if (!replays_) return;
    accuracy->replay_error = ReplayRun(&reader_, accuracy->run, recorded, machine_).error;
  }

 private:
  const traces::TraceRunInfo first_;
  traces::TraceReader& reader_;
  const Machine machine_;
  const RunPredictor predictor_;
  const bool replays_;
};

}  // namespace

std::vector<RunAccuracy> PredictRuns(const std::string& path, const TraceAccuracyOptions& options) {
  traces::TraceReader reader(path);
  std::vector<traces::TraceRunInfo> infos = reader.Runs();
  std::erase_if(infos, [](const traces::TraceRunInfo& info) {
    return info.simulated || !info.complete || !info.error.empty() || info.machine_json.empty();
  });
  if (infos.empty()) Throw(Code::kNotFound, "{} has no complete measured run", path);
  std::vector<std::unique_ptr<Experiment>> experiments;
  std::vector<RunAccuracy> found;
  for (const traces::TraceRunInfo& info : infos) {
    auto same = std::ranges::find_if(experiments, [&](const auto& one) { return one->Has(info); });
    if (same == experiments.end()) {
      experiments.push_back(std::make_unique<Experiment>(info, &reader, options));
      same = experiments.end() - 1;
    }
    const traces::TraceRun run = reader.ReadRun(info.id);
    if (run.steps.empty() || traces::NumSchedules(run) != 1) continue;
    RunAccuracy accuracy;
    accuracy.run = info.id;
    accuracy.experiment = static_cast<int>(same - experiments.begin());
    accuracy.graph = info.graph;
    accuracy.strategy = info.strategy;
    accuracy.oversubscribed = info.oversubscribed;
    accuracy.disturbed = run.all_disturbed;
    Describe(run, &accuracy);
    (*same)->Predict(run, &accuracy);
    found.push_back(std::move(accuracy));
  }
  return found;
}

}  // namespace lanescope::study
