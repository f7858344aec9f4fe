// SPDX-License-Identifier: Apache-2.0
// Times of steps on a machine, without running them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"
#include "sims/cost/cost_table.h"
#include "sims/effects/effect.h"
#include "sims/predict/predict.h"
#include "sims/predict/sweep.h"
#include "sims/search/lower_bound.h"
#include "study/workload/workload.h"

namespace lanescope::sims {
class CalibratedCost;
}  // namespace lanescope::sims

namespace lanescope::study {

class RememberedLaunches;

struct PredictOptions {
  int draws = 200;  // of the interval; 0: none, the interval is the value
  const std::atomic<bool>* cancelled = nullptr;
  const sims::EffectKind* without = nullptr;  // an effect that is left out; null: none is
  bool finds_path = true;                     // the critical path; false: nobody reads it
};

// A step to sweep; workload and schedule must outlive the sweep.
struct SweptStep {
  std::string name;
  const Workload* workload = nullptr;
  const Schedule* schedule = nullptr;
};

// Owns all that a prediction takes from a cost table: launches and copies, gaps, interference, fetches and
// the common spread. Copies share the table. Const calls from any thread.
class Predictor {
 public:
  // By the machine's rates: uncalibrated.
  explicit Predictor(Machine machine);
  Predictor(Machine machine, sims::CostTable table);
  // A predictor with the same costs, where links are as in `machine` and device d has speed[d] times the
  // rates that it has there. Throws InvalidArgument for a speed that is not from 0.001 to 1000.
  Predictor At(Machine machine, const IdVector<DeviceId, double>& speed) const;
  // From now on Estimate looks launches of this graph's nodes up anew only where they are on another device
  // than the last time, here and in what At makes of this. The graph must outlive them.
  void RememberLaunches(const Graph& graph);

  // With its devices at their speeds.
  const Machine& machine() const { return machine_; }
  // Costs of launches and copies alone, as strategies take them.
  const CostModel& costs() const { return *costs_; }
  // Null: uncalibrated.
  const sims::CostTable* table() const;
  // Gaps, interference and all else that is in the table but no cost.
  sims::PredictionSettings settings() const;
  // "calibrated on run 1 (polynomial single)", or "uncalibrated".
  std::string origin() const;

  // `schedule`: of the workload's step, compiled for the machine. Same input, same bits. Throws Cancelled.
  sims::Prediction Predict(const Workload& workload, const Schedule& schedule,
                           const PredictOptions& options = {}) const;
  // A prediction in two parts, for several predictions of one schedule. First, the cost of every command of
  // it:
  sims::CommandEstimates Estimate(const Workload& workload, const Schedule& schedule) const;
  // and what that comes to. With all effects: `options.without` is for Predict alone.
  sims::Prediction PredictFrom(const sims::CommandEstimates& estimates, const Workload& workload,
                               const Schedule& schedule, const PredictOptions& options = {}) const;
  // Step time without each of AllEffects, one at a time (ns). Throws Cancelled.
  std::vector<int64_t> Ablate(const Workload& workload, const Schedule& schedule,
                              const std::atomic<bool>* cancelled = nullptr) const;
  // How fast any placement of the step could be by these costs. Throws what TaskGraph throws.
  sims::LowerBound BoundOf(const Workload& workload) const;
  // Throws InvalidArgument for an empty or unusable range.
  sims::Sweep SweepLinks(const std::vector<SweptStep>& steps, const sims::SweepRange& range,
                         const Ranks& ranks = {}, const sims::SweepElsewhere& elsewhere = nullptr) const;
  // The result of a SweepElsewhere for this step.
  std::vector<int64_t> SweepSteps(const SweptStep& step, const sims::SweepRange& range,
                                  const std::vector<double>& bandwidth) const;

 private:
  Predictor(Machine machine, std::shared_ptr<const sims::CalibratedCost> calibrated);
  sims::PredictionSettings SettingsOf(const PredictOptions& options) const;
  sims::Prediction PredictBy(const sims::PredictionSettings& settings,
                             const sims::CommandEstimates& estimates, const Workload& workload,
                             const Schedule& schedule) const;
  void SetCosts();

  Machine base_machine_;              // where every device has the speed that base_ knows
  IdVector<DeviceId, double> speed_;  // empty: all as they are
  Machine machine_;
  std::shared_ptr<const sims::CalibratedCost> calibrated_;  // null: by the machine's rates
  std::shared_ptr<const CostModel> base_;
  std::shared_ptr<const CostModel> costs_;          // base_ at these speeds; refers to it
  std::shared_ptr<RememberedLaunches> remembered_;  // null: none are
};

}  // namespace lanescope::study
