// SPDX-License-Identifier: Apache-2.0
#include "sims/predict/replay.h"

#include "core/base/statistics.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {

CommandCosts MeasuredCosts(const MeasuredStep& step) {
  CommandCosts costs;
  costs.ns.reserve(step.command_start_ns.size());
  for (const CommandId c : step.command_start_ns.ids()) {
    costs.ns.Add(step.command_end_ns[c] - step.command_start_ns[c]);
  }
  return costs;
}

ReplayReport ReplaySteps(const Schedule& schedule, const Machine& machine,
                         std::span<const MeasuredStep> steps, const EffectSet& effects) {
  Simulator simulator(schedule, machine, effects.BetweenCommands().Model());
  ReplayReport report;
  SimulationResult result;
  std::vector<double> errors;
  for (const MeasuredStep& step : steps) {
    simulator.Run(MeasuredCosts(step), &result);
    const int64_t measured = step.end_ns - step.start_ns;
    report.measured_ns.push_back(measured);
    report.replayed_ns.push_back(result.step_ns);
    if (measured > 0) {
      errors.push_back(static_cast<double>(result.step_ns - measured) / static_cast<double>(measured));
    }
  }
  if (!errors.empty()) report.error = Median(std::move(errors));
  return report;
}

}  // namespace lanescope::sims
