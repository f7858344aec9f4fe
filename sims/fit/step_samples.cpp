#include "sims/fit/step_samples.h"

#include <unordered_map>
#include <utility>

#include "sims/effects/cores.h"
#include "sims/effects/fetches.h"
#include "sims/steps/measured_steps.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
CalibrationInput SamplesOf(const Schedule& schedule, const IdVector<CommandId, SignedWork>& work,
                           std::span<const Event> events, const Machine& machine, int warmup_steps) {
  std::vector<MeasuredStep> steps = GroupSteps(schedule, events, warmup_steps);
  CalibrationInput input;
  input.common_spread = EstimateCommonSpread(steps);
  steps = TypicalSteps(std::move(steps));
  std::unordered_map<int, const MeasuredStep*> typical;
  for (const MeasuredStep& step : steps) typical.emplace(step.step, &step);
  const auto fetched = FetchedBytes(schedule, machine);
  for (const Event& event : events) {
    const auto step = typical.find(event.step);
    if (event.kind != EventKind::kCommand || step == typical.end()) continue;
    const CommandId c = event.command;
    const Command& command = schedule.commands[c];
    const int64_t ns = step->second->command_end_ns[c] - step->second->command_start_ns[c];
    if (command.kind == CommandKind::kLaunch) {
      if (work[c].signature.empty()) continue;
      const DeviceId device = schedule.queues[command.queue].device;
      input.ops.push_back({work[c].signature, work[c].op, CostDevice(machine.device(device)), work[c].work,
                           ns, event.step, fetched[c], device});
    } else if (command.kind == CommandKind::kCopy) {
      input.copies.push_back(
          {schedule.CopySource(command), schedule.CopyDestination(command), event.bytes, ns, event.step});
    }
  }
  input.effects = FitEffects(StepStarts(schedule, machine, steps));
  return input;
}

void AddSamples(const CalibrationInput& from, CalibrationInput* to) {
  to->ops.insert(to->ops.end(), from.ops.begin(), from.ops.end());
  to->copies.insert(to->copies.end(), from.copies.begin(), from.copies.end());
  AddInputCosts(from.input, &to->input);
}

CostTable FitCosts(const CalibrationInput& input, const EffectSet& measured, const Machine& machine,
                   const std::string& calibrated_on) {
  std::vector<OpSample> ops = WithoutFetches(input.ops, measured.Get<Fetches>().curve);
  ops = OnFirstComputer(std::move(ops), machine, Computers(measured.Get<Cores>().others));
  CostTable table = CalibrateCosts(ops, input.copies, machine, 0);
  table.calibrated_on = calibrated_on;
  table.effects = input.effects;
  measured.HandOn(&table.effects);
  table.common_spread = input.common_spread;
  table.input = input.input;
  return table;
}

}  // namespace lanescope::sims
