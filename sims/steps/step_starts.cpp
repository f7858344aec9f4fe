// SPDX-License-Identifier: Apache-2.0
#include "sims/steps/step_starts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/statistics.h"
#include "core/schedule/task_share.h"
#include "sims/engine/issued_schedule.h"
#include "sims/engine/simulator.h"

namespace lanescope::sims {

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
    const bool silent = !segments_.empty() && IsStreamCommand(c) && begin(c) == end(c);
    if (command.is_work() && !RunsNothing(schedule_, c) && !silent) ran[command.queue].push_back(c);
  }
  std::vector<CommandStart> starts;
  for (std::vector<CommandId>& commands : ran) {
    std::stable_sort(commands.begin(), commands.end(),
                     [&](CommandId a, CommandId b) { return begin(a) < begin(b); });
    // A command beside it on other workers of the queue holds nothing up.
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
  FindCrowds(step, &starts);
  return starts;
}

// A stream has work from when a segment that it takes part in begins, or a command that is issued by itself,
// until its last command of that ends.
void StepStarts::FindCrowds(const MeasuredStep& step, std::vector<CommandStart>* starts) const {
  if (segments_.empty()) return;
  struct Work {
    QueueId queue;
    int64_t begin = INT64_MAX, end = INT64_MIN;
  };
  std::map<int, int64_t> segment_begin;
  std::map<std::pair<QueueId, int>, Work> works;  // by segment, or by command behind the segments
  const auto number = [&](CommandId c) {
    return segments_[c] >= 0 ? segments_[c] : static_cast<int>(segments_.size()) + c.number();
  };
  const auto gpu = [&](QueueId queue) {
    const DeviceSpec& device = machine_.device(schedule_.queues[queue].device);
    return device.kind == DeviceKind::kLogical ? device.physical : -1;
  };
  for (const CommandStart& start : *starts) {
    const CommandId c = start.command;
    if (!IsStreamCommand(c)) continue;
    const QueueId queue = schedule_.commands[c].queue;
    int64_t& first = segment_begin.try_emplace(number(c), INT64_MAX).first->second;
    first = std::min(first, step.command_start_ns[c]);
    if (schedule_.queues[queue].kind != QueueKind::kCompute || gpu(queue) < 0) continue;
    Work& work = works[{queue, number(c)}];
    work.queue = queue;
    work.end = std::max(work.end, step.command_end_ns[c]);
  }
  for (auto& [key, work] : works) work.begin = segment_begin.at(key.second);
  for (CommandStart& start : *starts) {
    const CommandId c = start.command;
    if (!IsStreamCommand(c)) continue;
    const QueueId queue = schedule_.commands[c].queue;
    const int64_t at = step.command_start_ns[c];
    std::set<QueueId> with_work;
    for (const auto& [key, work] : works) {
      if (gpu(work.queue) == gpu(queue) && work.begin <= at && at < work.end) with_work.insert(work.queue);
    }
    start.crowded = with_work.size() > 1;
    start.beside_running = std::ranges::any_of(*starts, [&](const CommandStart& other) {
      const QueueId beside = schedule_.commands[other.command].queue;
      return beside != queue && IsStreamCommand(other.command) && gpu(beside) == gpu(queue) &&
             step.command_start_ns[other.command] <= at && at < step.command_end_ns[other.command];
    });
  }
}

int64_t MeanOf(const std::vector<double>& samples) {
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return samples.empty() ? 0 : std::max<int64_t>(0, std::llround(sum / static_cast<double>(samples.size())));
}

int64_t MeanInTime(std::vector<double> samples) {
  constexpr double kLate = 4, kLeastNs = 1'000;
  if (samples.empty()) return 0;
  const double most = kLate * std::max(kLeastNs, Quantile(samples, 0.25));
  std::erase_if(samples, [&](double ns) { return ns > most; });
  return MeanOf(samples);
}

int64_t MedianOf(const std::vector<double>& samples) {
  return samples.empty() ? 0 : std::max<int64_t>(0, std::llround(Median(samples)));
}

}  // namespace lanescope::sims
