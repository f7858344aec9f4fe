#include "sims/steps/step_starts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/statistics.h"
#include "core/schedule/task_share.h"
#include "sims/engine/issued_schedule.h"

namespace lanescope::sims {
namespace {

// By command: the last launch or copy before each Record that a Wait between it and the one before it on its
// stream waits for.
Rows<CommandId, CommandId> WaitedFor(const Schedule& schedule,
                                     const Rows<CommandId, CommandId>& predecessors) {
  IdVector<QueueId, CommandId> last(schedule.queues.size());
  IdVector<QueueId, std::vector<CommandId>> waiting(schedule.queues.size());
  IdVector<CommandId, CommandId> before(schedule.commands.size());  // of Records
  Rows<CommandId, CommandId> waited;
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind == CommandKind::kRecord) {
      before[c] = last[command.queue];
    } else if (command.kind == CommandKind::kWait) {
      for (const CommandId p : predecessors[c]) {
        if (before[p].exists()) waiting[command.queue].push_back(before[p]);
      }
    } else {
      last[command.queue] = c;
      for (const CommandId p : std::exchange(waiting[command.queue], {})) waited.Append(p);
    }
    waited.EndRow();
  }
  return waited;
}

}  // namespace

StepStarts::StepStarts(const Schedule& schedule, const Machine& machine, std::span<const MeasuredStep> steps)
    : schedule_(schedule), machine_(machine), tasks_(TasksOf(machine)) {
  const auto predecessors = PredecessorsOf(schedule);
  if (!schedule.issue.empty()) {
    segments_ = SegmentsOf(schedule);
    waited_ = WaitedFor(schedule, predecessors);
  }
  for (const MeasuredStep& step : steps) steps_.push_back({&step, StartsOf(step, predecessors)});
}

bool StepStarts::IsSignal(CommandId before, CommandId after) const {
  return NeedsSignal(EndsOf(schedule_, tasks_, before), EndsOf(schedule_, tasks_, after));
}

std::vector<CommandStart> StepStarts::StartsOf(const MeasuredStep& step,
                                               const Rows<CommandId, CommandId>& predecessors) const {
  const auto begin = [&](CommandId command) { return step.command_start_ns[command]; };
  const auto end = [&](CommandId command) { return step.command_end_ns[command]; };
  IdVector<QueueId, std::vector<CommandId>> ran(schedule_.queues.size());
  for (const CommandId c : schedule_.commands.ids()) {
    const Command& command = schedule_.commands[c];
    if (command.is_work() && !RunsNothing(schedule_, c)) ran[command.queue].push_back(c);
  }
  std::vector<CommandStart> starts;
  for (std::vector<CommandId>& commands : ran) {
    std::stable_sort(commands.begin(), commands.end(),
                     [&](CommandId a, CommandId b) { return begin(a) < begin(b); });
    // What runs beside it on other workers of the queue holds nothing up.
    std::vector<CommandId> by_end = commands;
    std::stable_sort(by_end.begin(), by_end.end(), [&](CommandId a, CommandId b) { return end(a) < end(b); });
    size_t ended = 0;
    for (const CommandId command : commands) {
      while (ended < by_end.size() && by_end[ended] != command && end(by_end[ended]) <= begin(command))
        ++ended;
      CommandStart start{command, ended > 0 ? by_end[ended - 1] : CommandId(), CommandId()};
      for (const CommandId p : predecessors[command]) {
        if (!start.released.exists() || end(p) > end(start.released)) start.released = p;
      }
      if (!segments_.empty()) {
        for (const CommandId p : waited_[command]) {
          if (!start.released.exists() || end(p) > end(start.released)) start.released = p;
        }
      }
      starts.push_back(start);
    }
  }
  return starts;
}

int64_t MeanOf(const std::vector<double>& samples) {
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return samples.empty() ? 0 : std::max<int64_t>(0, std::llround(sum / static_cast<double>(samples.size())));
}

int64_t MedianOf(const std::vector<double>& samples) {
  return samples.empty() ? 0 : std::max<int64_t>(0, std::llround(Median(samples)));
}

}  // namespace lanescope::sims
