// SPDX-License-Identifier: Apache-2.0
#include "study/gate/plan_gate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <random>
#include <utility>

#include "core/runs/event_view.h"
#include "core/runs/run_profile.h"
#include "core/schedule/fusion.h"
#include "sims/engine/simulator.h"

namespace lanescope::study {
namespace {

constexpr int kDraws = 100;
constexpr size_t kMostDrawnCommands = 4'000'000;
constexpr int kFewestDraws = 20;
constexpr size_t kShownOpsOfPlan = 8;
// The spread of an estimate: nine in ten lie within it.
constexpr double kNineInTenSigmas = 1.645;

double NextNormal(std::mt19937_64* bits) {
  const auto uniform = [&] { return static_cast<double>(((*bits)() >> 11) + 1) * 0x1p-53; };
  const double u = uniform(), v = uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// One plan, which draws of costs are tried on.
class DrawnPlan {
 public:
  DrawnPlan(const Plan& plan, const Predictor& predictor, std::map<std::string, size_t>* kinds)
      : plan_(plan), predictor_(predictor), estimates_(predictor.Estimate(workload(), *plan.schedule)) {
    for (const CommandId c : plan.schedule->commands.ids())
      kind_.Add(kinds->try_emplace(TextOfKind(c), kinds->size()).first->second);
  }

  // With errors by kind, in standard deviations; none: as the costs say.
  sims::Prediction Predict(const std::vector<double>& errors, const Cancellation* cancellation) const {
    sims::CommandEstimates drawn = estimates_;
    for (const CommandId c : drawn.costs.ns.ids()) {
      if (errors.empty() || drawn.costs.ns[c] <= 0) continue;
      const auto ns = static_cast<double>(drawn.costs.ns[c]);
      const double sigma =
          std::log1p(std::max(0.0, static_cast<double>(drawn.spread_ns[c]) / ns)) / kNineInTenSigmas;
      drawn.costs.ns[c] = std::llround(std::min(ns * std::exp(sigma * errors[kind_[c]]), kLongestNs));
    }
    const PredictOptions options{.draws = 0,
                                 .cancelled = cancellation == nullptr ? nullptr : &cancellation->flag(),
                                 .finds_path = false};
    return predictor_.PredictFrom(drawn, workload(), *plan_.schedule, options);
  }

  // `profile`: null where nobody reads it.
  RunSample Sample(const sims::Prediction& prediction, const std::vector<Quantity>& quantities,
                   RunProfile* profile = nullptr) const {
    const std::vector<Event> events = sims::EventsOfStep(*plan_.schedule, prediction.simulation);
    const RunView view = ViewOfEvents(&workload().graph(), predictor_.machine(), *plan_.schedule, events);
    const auto peak = std::accumulate(prediction.peak_bytes.begin(), prediction.peak_bytes.end(), int64_t{0});
    RunSample sample = SampleRun(view, peak, quantities);
    for (size_t q = 0; q < quantities.size(); ++q) {
      // With what fills its queues beside it.
      if (quantities[q].kind != Quantity::Kind::kStep && quantities[q].kind != Quantity::Kind::kFastest)
        continue;
      sample.of[q].value = sample.of[q].scale = static_cast<double>(prediction.step_ns);
    }
    sample.name = plan_.name;
    if (profile != nullptr) *profile = ProfileRun(view);
    return sample;
  }

  size_t commands() const { return kind_.size(); }

 private:
  static constexpr double kLongestNs = 1e15;
  const Workload& workload() const { return *plan_.placed->workload; }

  // A text that is alike in every plan of a machine.
  std::string TextOfKind(CommandId c) const {
    const Schedule& schedule = *plan_.schedule;
    const Command& command = schedule.commands[c];
    if (command.kind == CommandKind::kCopy) {
      return fmt::format("copy {} {}", schedule.CopySource(command).number(),
                         schedule.CopyDestination(command).number());
    }
    if (command.kind != CommandKind::kLaunch) return "";
    return fmt::format("{} {}", LaunchOp(workload().graph(), schedule, command),
                       schedule.queues[command.queue].device.number());
  }

  const Plan& plan_;
  const Predictor& predictor_;
  const sims::CommandEstimates estimates_;
  IdVector<CommandId, size_t> kind_;
};

int DrawsFor(size_t commands) {
  return std::clamp(static_cast<int>(kMostDrawnCommands / std::max<size_t>(1, commands)), kFewestDraws,
                    kDraws);
}

}  // namespace

GateResult GatePlans(const Plan& base, const Plan& candidate, const Predictor& predictor,
                     const std::vector<Quantity>& quantities, double budget,
                     const Cancellation* cancellation) {
  std::map<std::string, size_t> kinds;
  const DrawnPlan a(base, predictor, &kinds), b(candidate, predictor, &kinds);
  RunProfile profile_a, profile_b;
  const RunSample sample_a = a.Sample(a.Predict({}, cancellation), quantities, &profile_a);
  const RunSample sample_b = b.Sample(b.Predict({}, cancellation), quantities, &profile_b);
  std::vector<ChangeInterval> changes;
  for (size_t q = 0; q < quantities.size(); ++q) {
    const double value = RelativeDifference(sample_a.of[q], sample_b.of[q]);
    changes.push_back({value, value, value});
  }
  std::mt19937_64 bits(1);
  std::vector<double> errors(kinds.size());
  for (int draw = 0; draw < DrawsFor(a.commands() + b.commands()); ++draw) {
    for (double& error : errors) error = NextNormal(&bits);
    const RunSample drawn_a = a.Sample(a.Predict(errors, cancellation), quantities);
    const RunSample drawn_b = b.Sample(b.Predict(errors, cancellation), quantities);
    for (size_t q = 0; q < quantities.size(); ++q) {
      const double value = RelativeDifference(drawn_a.of[q], drawn_b.of[q]);
      changes[q].low = std::min(changes[q].low, value);
      changes[q].high = std::max(changes[q].high, value);
    }
  }
  GateResult result{.base_name = base.name,
                    .candidate_name = candidate.name,
                    .budget = budget,
                    .base_runs = 1,
                    .candidate_runs = 1};
  for (size_t q = 0; q < quantities.size(); ++q) {
    result.quantities.push_back(JudgeChange(quantities[q], sample_a.of[q].value, sample_b.of[q].value,
                                            changes[q], budget,
                                            quantities[q].is_exact() ? "exact" : "draws of costs"));
  }
  result.verdict = VerdictOf(result.quantities);
  OpChanges ops;
  ops.Add(profile_a, profile_b);
  result.ops = ops.Largest(kShownOpsOfPlan);
  result.notes.push_back(fmt::format("simulated, {}: nothing was run", predictor.origin()));
  return result;
}

}  // namespace lanescope::study
