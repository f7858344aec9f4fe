// SPDX-License-Identifier: Apache-2.0
#include "sims/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/split_mix.h"
#include "core/base/statistics.h"
#include "core/base/stop_point.h"
#include "core/graph/signature.h"
#include "core/schedule/fused_cost.h"
#include "core/schedule/fusion.h"
#include "core/time/intervals.h"
#include "core/time/ticks.h"
#include "sims/cost/cost_model.h"
#include "sims/engine/interference.h"
#include "sims/engine/simulation_model.h"
#include "sims/predict/caveat.h"
#include "sims/steps/measured_steps.h"

namespace lanescope::sims {
namespace {

constexpr double kNineInTenSigmas = 1.645;
constexpr double kLowQuantile = 0.05, kHighQuantile = 0.95;
constexpr size_t kMaxDrawnCommands = 4'000'000;
constexpr int kMinDraws = 20;

class NormalStream {
 public:
  explicit NormalStream(uint64_t seed) : bits_(seed) {}
  // Box and Muller's transform, one of its two values.
  double Next() {
    const double u = Uniform(), v = Uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

 private:
  // In (0, 1].
  double Uniform() { return static_cast<double>((bits_.Next() >> 11) + 1) * 0x1p-53; }
  SplitMixStream bits_;
};

double SigmaOf(double relative_spread) {
  return std::log1p(std::max(0.0, relative_spread)) / kNineInTenSigmas;
}

IdVector<CommandId, double> SigmasOf(const CommandEstimates& estimates) {
  IdVector<CommandId, double> sigmas;
  for (const CommandId c : estimates.spread_ns.ids()) {
    const int64_t ns = estimates.costs.ns[c];
    const double spread = ns > 0 ? static_cast<double>(estimates.spread_ns[c]) / static_cast<double>(ns) : 0;
    sigmas.Add(SigmaOf(spread));
  }
  return sigmas;
}

int DrawsFor(const PredictionSettings& settings, size_t commands) {
  const size_t affordable = kMaxDrawnCommands / std::max<size_t>(commands, 1);
  return std::min(settings.draws,
                  std::max(kMinDraws, static_cast<int>(std::min<size_t>(affordable, 1 << 20))));
}

// `residual`: by which the whole step may be off beside common_spread, for rules that are not quite right.
void DrawInterval(Simulator* simulator, const CommandEstimates& estimates, const PredictionSettings& settings,
                  double residual, Prediction* prediction) {
  const int draws = DrawsFor(settings, estimates.costs.ns.size());
  if (draws <= 0) return;
  const IdVector<CommandId, double> sigmas = SigmasOf(estimates);
  const double common_sigma = std::hypot(SigmaOf(settings.common_spread), SigmaOf(residual));
  const int kinds =
      estimates.kind.empty() ? 0 : 1 + *std::max_element(estimates.kind.begin(), estimates.kind.end());
  std::vector<double> kind_error(static_cast<size_t>(kinds));
  NormalStream normal(settings.seed);
  CommandCosts drawn = estimates.costs;
  simulator->Freeze(prediction->simulation);
  std::vector<double> steps;
  for (int draw = 0; draw < draws; ++draw) {
    if (settings.cancelled != nullptr && settings.cancelled->load(std::memory_order_relaxed))
      Throw(Code::kCancelled, "the prediction was cancelled");
    for (double& error : kind_error) error = normal.Next();
    const double common = std::exp(common_sigma * normal.Next());
    for (const CommandId c : drawn.ns.ids()) {
      const double z = estimates.basis[c] == CostBasis::kMeasured
                           ? normal.Next()
                           : kind_error[static_cast<size_t>(estimates.kind[c])];
      const double ns = static_cast<double>(estimates.costs.ns[c]) * std::exp(sigmas[c] * z);
      drawn.ns[c] = static_cast<int64_t>(std::min(ns + 0.5, static_cast<double>(kMaxSimulatedNs)));
    }
    steps.push_back(static_cast<double>(simulator->StepNs(drawn)) * common);
  }
  std::sort(steps.begin(), steps.end());
  const auto at = [&](double quantile) { return std::llround(QuantileOfSorted(steps, quantile)); };
  prediction->low_ns = std::min<int64_t>(prediction->step_ns, at(kLowQuantile));
  prediction->high_ns = std::max<int64_t>(prediction->step_ns, at(kHighQuantile));
}

// By queue: the time in which at least one of its commands ran.
IdVector<QueueId, int64_t> BusyOfQueues(const Schedule& schedule, const SimulationResult& result) {
  IdVector<QueueId, int64_t> busy = result.queue_busy_ns;
  IdVector<QueueId, IntervalSet> runs(busy.size());
  for (const CommandId c : schedule.commands.ids()) {
    const QueueId queue = schedule.commands[c].queue;
    if (schedule.queues[queue].workers > 1) runs[queue].Add(result.times[c].start_ns, result.times[c].end_ns);
  }
  for (const QueueId q : runs.ids()) {
    if (schedule.queues[q].workers > 1) busy[q] = TotalLength(runs[q].Union());
  }
  return busy;
}

void Summarise(const Schedule& schedule, const Machine& machine, const CommandEstimates& estimates,
               Prediction* prediction) {
  prediction->peak_bytes = schedule.peak_bytes;
  prediction->busy.assign(machine.devices.size(), 0);
  const auto step = static_cast<double>(std::max<int64_t>(prediction->step_ns, 1));
  const IdVector<QueueId, int64_t> busy = BusyOfQueues(schedule, prediction->simulation);
  for (const QueueId q : schedule.queues.ids()) {
    if (schedule.queues[q].kind != QueueKind::kCompute) continue;
    prediction->busy[schedule.queues[q].device] += static_cast<double>(busy[q]) / step;
  }
  prediction->basis = SharesOf(estimates, prediction->simulation);
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    const CommandTime& time = prediction->simulation.times[c];
    if (command.kind != CommandKind::kCopy) continue;
    const CopyClass copy_class =
        ClassifyCopy(machine, schedule.CopySource(command), schedule.CopyDestination(command));
    CopyTraffic& traffic = prediction->copies[static_cast<size_t>(copy_class)];
    ++traffic.count;
    traffic.bytes += command.bytes;
    traffic.ns += time.end_ns - time.start_ns;
  }
  prediction->caveat = CaveatOf(prediction->basis, machine);
}

// A copy of which nobody knows how many bytes it moves.
CostEstimate UnknownCopy(CostEstimate of_nothing) {
  const int64_t ns = std::max(of_nothing.ns, kUnknownNs);
  return {ns, static_cast<int64_t>(kUnknownSpread * static_cast<double>(ns)), CostBasis::kNothing};
}

// Numbers, as they come, what errs together: launches of an op on a device, and copies from one device to
// another.
class ErrorKinds {
 public:
  // `op`: empty for what is no launch.
  int Of(std::string_view op, DeviceId device, DeviceId other) {
    auto found = ops_.find(op);
    if (found == ops_.end()) found = ops_.emplace(op, ops_.size()).first;
    const auto part = [](DeviceId id) { return static_cast<uint64_t>(id.number() + 1) & 0xffffff; };
    const uint64_t key = static_cast<uint64_t>(found->second) << 48 | part(device) << 24 | part(other);
    return kinds_.try_emplace(key, static_cast<int>(kinds_.size())).first->second;
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view op) const { return std::hash<std::string_view>()(op); }
  };
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> ops_;
  std::unordered_map<uint64_t, int> kinds_;
};

// `inputs`: of no meaning, kept for its memory.
LaunchEstimate LaunchOfNode(const Graph& graph, const GraphInfo& info, const Machine& machine,
                            const CostModel& costs, NodeId number, DeviceId device,
                            std::vector<TensorInfo>* inputs) {
  const Node& node = graph.node(number);
  inputs->clear();
  for (const Endpoint& input : node.inputs) inputs->push_back(info.of(input));
  const auto outputs = info.outputs(number);
  return {costs.Launch(machine, device, node, *inputs, outputs), WorkOf(node, *inputs, outputs)};
}

struct NamedEstimate {
  LaunchEstimate launch;
  std::string_view op;  // valid until the next one is asked for
};

// `launch(command, device)`: the NamedEstimate of a launch.
template <typename Launch>
CommandEstimates EstimateAll(const Schedule& schedule, const Machine& machine, const CostModel& costs,
                             const PredictionSettings& settings, Launch launch) {
  CommandEstimates estimates;
  const size_t size = schedule.commands.size();
  estimates.costs.ns.reserve(size);
  estimates.costs.classes.reserve(size);
  estimates.costs.cores.reserve(size);
  estimates.spread_ns.reserve(size);
  estimates.basis.reserve(size);
  estimates.kind.reserve(size);
  ErrorKinds kinds;
  for (const CommandId c : schedule.commands.ids()) {
    StopPoint();
    const Command& command = schedule.commands[c];
    CostEstimate estimate{.basis = CostBasis::kMeasured};
    WorkClass command_class = WorkClass::kCopy;
    int cores = 1;
    std::string_view op;
    DeviceId device, other;
    if (RunsNothing(schedule, c)) {
      command_class = WorkClass::kMemory;
    } else if (command.kind == CommandKind::kLaunch) {
      device = schedule.queues[command.queue].device;
      const NamedEstimate found = launch(c, device);
      estimate = found.launch.cost;
      op = found.op;
      command_class = ClassOf(found.launch.work);
      const DeviceSpec& spec = machine.device(device);
      cores = spec.is_hardware() ? PiecesOf(found.launch.work, spec) : command.workers;
    } else if (command.kind == CommandKind::kCopy) {
      device = schedule.CopySource(command);
      other = schedule.CopyDestination(command);
      estimate = costs.Copy(machine, device, other, command.bytes);
      const Value& copied = schedule.values[schedule.Inputs(command)[0]];
      if (!copied.shape.HasBound()) estimate = UnknownCopy(estimate);
    }
    estimates.costs.ns.Add(estimate.ns);
    estimates.costs.classes.Add(command_class);
    estimates.costs.cores.Add(cores);
    estimates.spread_ns.Add(estimate.spread_ns);
    estimates.basis.Add(estimate.basis);
    estimates.kind.Add(kinds.Of(op, device, other));
  }
  settings.effects.Lengthen(schedule, machine, &estimates.costs.ns);
  return estimates;
}

}  // namespace

BasisShares SharesOf(const CommandEstimates& estimates, const SimulationResult& simulation) {
  BasisShares shares;
  double total = 0;
  for (const CommandId c : estimates.basis.ids()) {
    const CommandTime& time = simulation.times[c];
    const auto ns = static_cast<double>(time.end_ns - time.start_ns);
    total += ns;
    shares.share[static_cast<size_t>(estimates.basis[c])] += ns;
    shares.unknown_commands += estimates.basis[c] == CostBasis::kNothing;
  }
  for (double& part : shares.share) part = total > 0 ? part / total : 0;
  return shares;
}

double Prediction::uncalibrated_share() const {
  double sum = 0;
  for (size_t b = 0; b < basis.share.size(); ++b) {
    if (static_cast<CostBasis>(b) != CostBasis::kMeasured) sum += basis.share[b];
  }
  return sum;
}

double Prediction::extrapolated_share() const {
  return share(CostBasis::kExtrapolated) + share(CostBasis::kAssumed) + share(CostBasis::kNothing);
}

LaunchEstimate EstimateLaunch(const Graph& graph, const GraphInfo& info, const Machine& machine,
                              const CostModel& costs, NodeId number, DeviceId device) {
  std::vector<TensorInfo> inputs;
  return LaunchOfNode(graph, info, machine, costs, number, device, &inputs);
}

CommandEstimates EstimateCommands(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                                  const Machine& machine, const CostModel& costs,
                                  const PredictionSettings& settings) {
  std::vector<TensorInfo> inputs;
  return EstimateCommands(graph, info, schedule, machine, costs, settings, [&](NodeId node, DeviceId device) {
    return LaunchOfNode(graph, info, machine, costs, node, device, &inputs);
  });
}

CommandEstimates EstimateCommands(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                                  const Machine& machine, const CostModel& costs,
                                  const PredictionSettings& settings, const KnownLaunches& launches) {
  std::string fused_op;
  return EstimateAll(schedule, machine, costs, settings, [&](CommandId c, DeviceId device) {
    const Command& command = schedule.commands[c];
    if (command.fused < 0) return NamedEstimate{launches(command.node, device), graph.node(command.node).op};
    fused_op = LaunchOp(graph, schedule, command);
    return NamedEstimate{{FusedCost(graph, info, schedule, command, machine, device, costs),
                          LaunchWork(graph, info, schedule, command)},
                         fused_op};
  });
}

CommandEstimates EstimateCommands(const Schedule& schedule, const IdVector<CommandId, SignedWork>& work,
                                  const Machine& machine, const CalibratedCost& costs,
                                  const PredictionSettings& settings) {
  return EstimateAll(schedule, machine, costs, settings, [&](CommandId c, DeviceId device) {
    return NamedEstimate{{costs.Launch(machine.device(device), work[c]), work[c].work}, work[c].op};
  });
}

PredictionSettings SettingsOf(const CostTable& table) {
  PredictionSettings settings;
  settings.effects = table.effects;
  settings.common_spread = table.common_spread;
  return settings;
}

Prediction Predict(const Schedule& schedule, const Machine& machine, const CommandEstimates& estimates,
                   const PredictionSettings& settings) {
  Prediction prediction;
  Simulator simulator(schedule, machine, settings.effects.Model());
  simulator.Run(estimates.costs, &prediction.simulation);
  prediction.step_ns = prediction.low_ns = prediction.high_ns = prediction.simulation.step_ns;
  DrawInterval(&simulator, estimates, settings, settings.effects.Residual(schedule, machine), &prediction);
  Summarise(schedule, machine, estimates, &prediction);
  if (settings.finds_path)
    prediction.critical_path = FindCriticalPath(schedule, machine, prediction.simulation);
  return prediction;
}

Prediction Predict(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                   const Machine& machine, const CostModel& costs, const PredictionSettings& settings) {
  return Predict(schedule, machine, EstimateCommands(graph, info, schedule, machine, costs, settings),
                 settings);
}

}  // namespace lanescope::sims
