#include "sims/fit/step_samples.h"

#include <unordered_set>
#include <utility>

#include "sims/cost/fetch_cost.h"
#include "sims/fit/measured_steps.h"

namespace lanescope::sims {
CalibrationInput SamplesOf(const Schedule& schedule, const IdVector<CommandId, SignedWork>& work,
                           std::span<const Event> events, const Machine& machine, int warmup_steps) {
  std::vector<MeasuredStep> steps = GroupSteps(schedule, events, warmup_steps);
  CalibrationInput input;
  input.common_spread = EstimateCommonSpread(steps);
  steps = TypicalSteps(std::move(steps));
  std::unordered_set<int> typical;
  for (const MeasuredStep& step : steps) typical.insert(step.step);
  const auto fetched = FetchedBytes(schedule, machine);
  for (const Event& event : events) {
    if (event.kind != EventKind::kCommand || typical.count(event.step) == 0) continue;
    const CommandId c = event.command;
    const Command& command = schedule.commands[c];
    const int64_t ns = event.end_ns - event.start_ns;
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
  input.gaps = EstimateGaps(schedule, machine, steps);
  return input;
}

void AddSamples(const CalibrationInput& from, CalibrationInput* to) {
  to->ops.insert(to->ops.end(), from.ops.begin(), from.ops.end());
  to->copies.insert(to->copies.end(), from.copies.begin(), from.copies.end());
  AddInputCosts(from.input, &to->input);
}

CostTable FitCosts(const CalibrationInput& input, const FetchCurve& fetches, const Interference* interference,
                   const Machine& machine, const std::string& calibrated_on) {
  std::vector<OpSample> ops = WithoutFetches(input.ops, fetches);
  if (interference != nullptr)
    ops = OnFirstComputer(std::move(ops), machine, Computers(interference->other_computers));
  CostTable table = CalibrateCosts(ops, input.copies, machine, 0);
  if (interference != nullptr) {
    table.has_interference = true;
    table.interference = *interference;
  }
  table.calibrated_on = calibrated_on;
  table.gaps = input.gaps;
  table.common_spread = input.common_spread;
  table.fetches = fetches;
  table.input = input.input;
  return table;
}

}  // namespace lanescope::sims
