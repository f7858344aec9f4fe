// SPDX-License-Identifier: Apache-2.0
// The prediction of a step: from graph, schedule, machine and cost model to a time with an interval, and what
// stands behind it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/machine/copy_class.h"
#include "core/machine/machine.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"
#include "sims/cost/cost_table.h"
#include "sims/effects/effect.h"
#include "sims/engine/critical_path.h"
#include "sims/engine/simulator.h"
#include "sims/predict/pipeline.h"

namespace lanescope {
struct SignedWork;
}  // namespace lanescope

namespace lanescope::sims {

class CalibratedCost;

// A cost model's estimates of every command of a schedule.
struct CommandEstimates {
  CommandCosts costs;
  IdVector<CommandId, int64_t> spread_ns;
  IdVector<CommandId, CostBasis> basis;
  IdVector<CommandId, int> kind;  // commands of one kind (op and device; devices of a copy) err together
};
struct CopyTraffic {
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t ns = 0;
};

// The sources of the time of a step's commands.
struct BasisShares {
  std::array<double, kNumCostBases> share{};  // by CostBasis
  int unknown_commands = 0;                   // that go by nothing (CostBasis::kNothing)

  double of(CostBasis basis) const { return share[static_cast<size_t>(basis)]; }
};
BasisShares SharesOf(const CommandEstimates& estimates, const SimulationResult& simulation);

struct Prediction {
  int64_t step_ns = 0;
  int64_t low_ns = 0, high_ns = 0;  // nine in ten steps
  SimulationResult simulation;
  IdVector<DeviceId, double> busy;  // fraction of the step in which its compute queues run
  std::array<CopyTraffic, kNumCopyClasses> copies{};
  IdVector<DeviceId, int64_t> peak_bytes;
  CriticalPath critical_path;
  BasisShares basis;
  std::optional<PipelinePrediction> input;  // where threads fill queues that the step takes from
  // Why step_ns is not to be relied on: a tenth of the commands' time lies outside what was calibrated, or
  // has nothing to go by, as on a machine without rates. Empty where it rests on measurements, or, without a
  // cost file, on the rates of a machine file. To be shown with the figure.
  std::string caveat;

  double share(CostBasis of) const { return basis.of(of); }
  double uncalibrated_share() const;
  // The share that goes by other ops, by sizes far from those that were measured, or by nothing.
  double extrapolated_share() const;
};

// Facts beside the commands themselves, and how to predict.
struct PredictionSettings {
  EffectSet effects = UnmeasuredEffects();
  double common_spread = 0;                      // CostTable::common_spread
  const std::atomic<bool>* cancelled = nullptr;  // not null: asked before every draw
  int draws = 200;  // of the interval; 0: none, the interval is the value. Fewer for very large schedules
  uint64_t seed = 1;
  bool finds_path = true;  // Prediction::critical_path; false: it stays empty
};
// All that a cost table says beside launches and copies.
PredictionSettings SettingsOf(const CostTable& table);

CommandEstimates EstimateCommands(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                                  const Machine& machine, const CostModel& costs,
                                  const PredictionSettings& settings);

// A launch of one node on a device: what it costs and what it does.
struct LaunchEstimate {
  CostEstimate cost;
  OpWork work;
};
LaunchEstimate EstimateLaunch(const Graph& graph, const GraphInfo& info, const Machine& machine,
                              const CostModel& costs, NodeId node, DeviceId device);
// EstimateCommands by a caller that has EstimateLaunch's answers at hand; `costs`: of all but these.
using KnownLaunches = std::function<LaunchEstimate(NodeId node, DeviceId device)>;
CommandEstimates EstimateCommands(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                                  const Machine& machine, const CostModel& costs,
                                  const PredictionSettings& settings, const KnownLaunches& launches);

// Estimates a schedule whose graph is not there (ReadSchedule): `work` of its commands.
CommandEstimates EstimateCommands(const Schedule& schedule, const IdVector<CommandId, SignedWork>& work,
                                  const Machine& machine, const CalibratedCost& costs,
                                  const PredictionSettings& settings);

// The value is a simulation with every command at its cost. The interval is the middle nine tenths of
// seeded draws: a calibrated command varies by itself, uncalibrated ones of a kind err together, and the
// whole step varies by common_spread; each factor is log-normal, so that the median stays and no time is
// negative. The interval always contains the value. Same input, same bits. Throws Cancelled.
Prediction Predict(const Schedule& schedule, const Machine& machine, const CommandEstimates& estimates,
                   const PredictionSettings& settings);
Prediction Predict(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                   const Machine& machine, const CostModel& costs, const PredictionSettings& settings);

}  // namespace lanescope::sims
