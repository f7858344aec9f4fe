#include "sims/steps/measured_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/base/statistics.h"

namespace lanescope::sims {
namespace {

constexpr int64_t kUnset = INT64_MIN;

void FillSyncs(const Schedule& schedule, const Rows<CommandId, CommandId>& predecessors, MeasuredStep* step) {
  for (const CommandId c : schedule.commands.ids()) {
    if (schedule.commands[c].is_work()) continue;
    int64_t end = step->start_ns;
    for (const CommandId p : predecessors[c]) {
      end = std::max(end, step->command_end_ns[p]);
    }
    step->command_start_ns[c] = step->command_end_ns[c] = end;
  }
}

bool IsComplete(const Schedule& schedule, const MeasuredStep& step) {
  if (step.start_ns == kUnset) return false;
  for (const CommandId c : schedule.commands.ids()) {
    if (schedule.commands[c].is_work() && step.command_end_ns[c] == kUnset) return false;
  }
  return true;
}

}  // namespace

Rows<CommandId, CommandId> PredecessorsOf(const Schedule& schedule) {
  return Transpose(schedule.successors, schedule.commands.size());
}

std::vector<MeasuredStep> GroupSteps(const Schedule& schedule, std::span<const Event> events,
                                     int warmup_steps) {
  const size_t total = schedule.commands.size();
  std::map<int, MeasuredStep> steps;
  for (const Event& event : events) {
    if (event.step < warmup_steps) continue;
    if (event.end_ns < event.start_ns) {
      Throw(Code::kInvalidArgument, "an event of step {} ends before it starts; the trace is damaged",
            event.step);
    }
    auto [found, added] = steps.try_emplace(event.step);
    MeasuredStep& step = found->second;
    if (added) {
      step.step = event.step;
      step.start_ns = step.end_ns = kUnset;
      step.command_start_ns.assign(total, kUnset);
      step.command_end_ns.assign(total, kUnset);
    }
    if (event.kind == EventKind::kStep) {
      step.start_ns = event.start_ns;
      step.end_ns = event.end_ns;
      continue;
    }
    if (!schedule.commands.Contains(event.command)) {
      Throw(Code::kInvalidArgument,
            "an event names command {} of a schedule of {}; the trace is of another run",
            event.command.number(), total);
    }
    step.command_start_ns[event.command] = event.start_ns;
    step.command_end_ns[event.command] = event.end_ns;
  }
  const auto predecessors = PredecessorsOf(schedule);
  std::vector<MeasuredStep> complete;
  for (auto& [number, step] : steps) {
    if (!IsComplete(schedule, step)) continue;
    FillSyncs(schedule, predecessors, &step);
    complete.push_back(std::move(step));
  }
  return complete;
}

std::vector<MeasuredStep> TypicalSteps(std::vector<MeasuredStep> steps) {
  return MiddleHalf(std::move(steps), [](const MeasuredStep& step) { return step.end_ns - step.start_ns; });
}

}  // namespace lanescope::sims
