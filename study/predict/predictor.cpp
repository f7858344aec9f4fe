// SPDX-License-Identifier: Apache-2.0
#include "study/predict/predictor.h"

#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/collective/joint_launch.h"
#include "core/strategies/strategy.h"
#include "core/strategies/task_graph.h"
#include "sims/cost/cost_model.h"
#include "sims/cost/device_speed.h"
#include "sims/engine/simulation_model.h"
#include "study/workload/input_pipeline.h"

namespace lanescope::study {

// By node what its launch was on the device where it was asked for last: an edit moves few.
class RememberedLaunches {
 public:
  explicit RememberedLaunches(const Graph& graph) : graph_(graph), known_(graph.num_nodes()) {}

  bool AreOf(const Graph& graph) const { return &graph == &graph_; }
  // `costs`: the same in all calls, and the machine but for its links.
  sims::LaunchEstimate Of(const GraphInfo& info, const Machine& machine, const CostModel& costs, NodeId node,
                          DeviceId device) {
    Known& known = known_[node];
    if (known.device == device) return known.launch;
    const sims::LaunchEstimate launch = sims::EstimateLaunch(graph_, info, machine, costs, node, device);
    // Parts of a joint launch take what links say.
    if (JointLaunchOf(graph_.node(node)).empty()) known = {device, launch};
    return launch;
  }

  std::mutex mutex;  // held by whoever asks

 private:
  struct Known {
    DeviceId device;  // none: nobody has asked
    sims::LaunchEstimate launch;
  };
  const Graph& graph_;
  IdVector<NodeId, Known> known_;
};

Predictor::Predictor(Machine machine, std::shared_ptr<const sims::CalibratedCost> calibrated)
    : base_machine_(std::move(machine)), machine_(base_machine_), calibrated_(std::move(calibrated)) {
  base_ = calibrated_ != nullptr ? std::static_pointer_cast<const CostModel>(calibrated_)
                                 : std::make_shared<RooflineCost>();
  SetCosts();
}

Predictor::Predictor(Machine machine) : Predictor(std::move(machine), nullptr) {}

Predictor::Predictor(Machine machine, sims::CostTable table)
    : Predictor(std::move(machine), std::make_shared<sims::CalibratedCost>(std::move(table))) {}

Predictor Predictor::At(Machine machine, const IdVector<DeviceId, double>& speed) const {
  for (const double factor : speed) sims::RequireSpeed(factor);
  Predictor changed(*this);
  changed.base_machine_ = machine;
  changed.speed_ = speed;
  changed.machine_ = lanescope::sims::AtSpeed(std::move(machine), speed);
  changed.SetCosts();
  return changed;
}

void Predictor::SetCosts() {
  costs_ = speed_.empty() ? base_ : std::make_shared<sims::CostAtSpeed>(*base_, base_machine_, speed_);
}

void Predictor::RememberLaunches(const Graph& graph) {
  remembered_ = std::make_shared<RememberedLaunches>(graph);
}

std::string Predictor::origin() const {
  return calibrated_ != nullptr ? "calibrated on " + calibrated_->table().calibrated_on : "uncalibrated";
}

const sims::CostTable* Predictor::table() const {
  return calibrated_ != nullptr ? &calibrated_->table() : nullptr;
}

sims::PredictionSettings Predictor::settings() const {
  return calibrated_ != nullptr ? sims::SettingsOf(calibrated_->table()) : sims::PredictionSettings();
}

sims::Prediction Predictor::Predict(const Workload& workload, const Schedule& schedule,
                                    const PredictOptions& options) const {
  const sims::PredictionSettings settings = SettingsOf(options);
  const sims::CommandEstimates estimates =
      sims::EstimateCommands(workload.graph(), workload.info(), schedule, machine_, *costs_, settings);
  return PredictBy(settings, estimates, workload, schedule);
}

sims::PredictionSettings Predictor::SettingsOf(const PredictOptions& options) const {
  sims::PredictionSettings settings = this->settings();
  settings.draws = options.draws;
  settings.cancelled = options.cancelled;
  settings.finds_path = options.finds_path;
  if (options.without != nullptr) settings.effects.Remove(*options.without);
  return settings;
}

sims::CommandEstimates Predictor::Estimate(const Workload& workload, const Schedule& schedule) const {
  if (remembered_ == nullptr || !remembered_->AreOf(workload.graph()))
    return sims::EstimateCommands(workload.graph(), workload.info(), schedule, machine_, *costs_, settings());
  std::lock_guard lock(remembered_->mutex);
  return sims::EstimateCommands(workload.graph(), workload.info(), schedule, machine_, *costs_, settings(),
                                [&](NodeId node, DeviceId device) {
                                  sims::LaunchEstimate launch =
                                      remembered_->Of(workload.info(), base_machine_, *base_, node, device);
                                  if (!speed_.empty())
                                    launch.cost = sims::AtSpeed(launch.cost, speed_[device]);
                                  return launch;
                                });
}

sims::Prediction Predictor::PredictFrom(const sims::CommandEstimates& estimates, const Workload& workload,
                                        const Schedule& schedule, const PredictOptions& options) const {
  return PredictBy(SettingsOf(options), estimates, workload, schedule);
}

sims::Prediction Predictor::PredictBy(const sims::PredictionSettings& settings,
                                      const sims::CommandEstimates& estimates, const Workload& workload,
                                      const Schedule& schedule) const {
  sims::Prediction prediction = sims::Predict(schedule, machine_, estimates, settings);
  if (table() != nullptr) AddInput(workload, machine_, schedule, table()->input, &prediction);
  return prediction;
}

std::vector<int64_t> Predictor::Ablate(const Workload& workload, const Schedule& schedule,
                                       const std::atomic<bool>* cancelled) const {
  std::vector<int64_t> step_ns;
  for (const sims::EffectKind* effect : sims::AllEffects())
    step_ns.push_back(Predict(workload, schedule,
                              {.draws = 0, .cancelled = cancelled, .without = effect, .finds_path = false})
                          .step_ns);
  return step_ns;
}

sims::LowerBound Predictor::BoundOf(const Workload& workload) const {
  const StrategyInput input{workload.graph(), workload.info(),   machine_,
                            *costs_,          workload.placer(), &workload.request()};
  return sims::FindLowerBound(input, TaskGraph(input), settings().effects.Model().delays);
}

namespace {

sims::SweepCandidate CandidateOf(const SweptStep& step) {
  return {step.name, &step.workload->graph(), &step.workload->info(), step.schedule};
}

}  // namespace

sims::Sweep Predictor::SweepLinks(const std::vector<SweptStep>& steps, const sims::SweepRange& range,
                                  const Ranks& ranks, const sims::SweepElsewhere& elsewhere) const {
  std::vector<sims::SweepCandidate> candidates;
  for (const SweptStep& step : steps) candidates.push_back(CandidateOf(step));
  return sims::RunSweep(machine_, *costs_, settings(), candidates, range, ranks, elsewhere);
}

std::vector<int64_t> Predictor::SweepSteps(const SweptStep& step, const sims::SweepRange& range,
                                           const std::vector<double>& bandwidth) const {
  return sims::SweepSteps(machine_, *costs_, settings(), CandidateOf(step), range, bandwidth);
}

}  // namespace lanescope::study
