// SPDX-License-Identifier: Apache-2.0
#include "sims/fit/step_samples.h"

#include <unordered_map>
#include <utility>

#include "sims/effects/cache_transfer_cost.h"
#include "sims/effects/front_end.h"
#include "sims/engine/simulator.h"
#include "sims/steps/measured_steps.h"
#include "sims/steps/part_clocks.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
CalibrationInput SamplesOf(const Schedule& schedule, const IdVector<CommandId, SignedWork>& work,
                           std::span<const Event> events, const Machine& machine, int warmup_steps) {
  std::vector<MeasuredStep> steps = GroupSteps(schedule, events, warmup_steps);
  CalibrationInput input;
  input.common_spread = EstimateCommonSpread(steps);
  steps = TypicalSteps(std::move(steps));
  AlignParts(schedule, machine, &steps);
  const StepStarts starts(schedule, machine, steps);
  input.effects = FitEffects(starts);
  struct Typical {
    const MeasuredStep* step;
    IdVector<CommandId, int64_t> looked;
  };
  std::unordered_map<int, Typical> typical;
  for (size_t s = 0; s < steps.size(); ++s)
    typical.emplace(steps[s].step, Typical{&steps[s], LookedNs(starts, s, input.effects)});
  const auto fetched = FetchedBytes(schedule, machine);
  const auto add = [&](CommandId c, int64_t ns, int step) {
    if (work[c].signature.empty()) return;
    const DeviceId device = schedule.queues[schedule.commands[c].queue].device;
    input.ops.push_back({work[c].signature, work[c].op, CostDevice(machine.device(device)), work[c].work, ns,
                         step, fetched[c], device});
  };
  for (const Event& event : events) {
    const auto found = typical.find(event.step);
    if (event.kind != EventKind::kCommand || found == typical.end()) continue;
    const auto& [step, looked] = found->second;
    const CommandId c = event.command;
    const Command& command = schedule.commands[c];
    const int64_t ns = step->command_end_ns[c] - step->command_start_ns[c] - looked[c];
    if (command.kind == CommandKind::kLaunch) {
      add(c, ns, event.step);
    } else if (command.kind == CommandKind::kCopy) {
      input.copies.push_back(
          {schedule.CopySource(command), schedule.CopyDestination(command), event.bytes, ns, event.step});
    }
  }
  // Launches of streams that make no kernel, which have no event.
  for (const MeasuredStep& step : steps) {
    for (const CommandId c : schedule.commands.ids()) {
      const bool silent = schedule.commands[c].kind == CommandKind::kLaunch && starts.IsStreamCommand(c) &&
                          step.command_start_ns[c] == step.command_end_ns[c];
      if (silent && !RunsNothing(schedule, c)) add(c, 0, step.step);
    }
  }
  return input;
}

void AddSamples(const CalibrationInput& from, CalibrationInput* to) {
  to->ops.insert(to->ops.end(), from.ops.begin(), from.ops.end());
  to->copies.insert(to->copies.end(), from.copies.begin(), from.copies.end());
  AddInputCosts(from.input, &to->input);
}

CostTable FitCosts(const CalibrationInput& input, const EffectSet& measured, const Machine& machine,
                   const std::string& calibrated_on) {
  std::vector<OpSample> ops = input.ops;
  for (OpSample& op : ops) op.ns = measured.Without({op.work, op.ns, op.fetched_bytes, op.ran_on}, machine);
  CostTable table = CalibrateCosts(ops, input.copies, machine, 0);
  table.calibrated_on = calibrated_on;
  table.effects = input.effects;
  measured.HandOn(&table.effects);
  table.common_spread = input.common_spread;
  table.input = input.input;
  return table;
}

}  // namespace lanescope::sims
